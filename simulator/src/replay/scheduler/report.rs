//! What the scheduler reports about the replay so far.

use super::Scheduler;
use crate::replay::Progress;
use crate::run::{States, TimeLine, Waits};

impl Scheduler {
    /// Returns the number of cycles that each thread has spent in each state so far.
    #[must_use]
    pub(crate) fn states(&self) -> Vec<States> {
        self.accounts.states(self.now())
    }

    /// Returns the time at which a thread's state began, and the number of cycles that the thread had spent in each state before
    /// that time.
    pub(crate) fn account(&self, thread: usize) -> (u64, &States) {
        self.accounts.before_state(thread)
    }

    /// Starts to collect a [time line](Self::time_line).
    pub(crate) fn collect_time_line(&mut self) {
        self.accounts.collect_time_line();
    }

    /// Returns the time line so far; empty if no time line is collected.
    #[must_use]
    pub(crate) fn time_line(&self) -> TimeLine {
        self.accounts.time_line(self.now())
    }

    /// Returns what threads have waited for so far.
    #[must_use]
    pub(crate) fn waits(&self) -> Waits {
        self.accounts.waits()
    }

    /// Returns notes on how far the results can be trusted; see [`Run::notes`](crate::run::Run::notes).
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for program in &self.programs {
            let (recording, waits) = (program.source.recording(), program.dropped);
            notes.extend_from_slice(recording.notes());
            if waits != 0 {
                notes.push(format!(
                    "{} lacks signals that its threads wait for (waits skipped: {waits})",
                    recording.name()
                ));
            }
            if program.forced != 0 {
                notes.push(format!(
                    "{} has threads whose waits for locks, semaphores or barriers no thread can end (waits cut short: {})",
                    recording.name(),
                    program.forced
                ));
            }
        }
        notes
    }

    /// Returns messages about program actions that are missing from the recordings.
    #[must_use]
    pub(crate) fn missing(&self) -> Vec<String> {
        let recordings = self.programs.iter().map(|program| program.source.recording());
        recordings.flat_map(|recording| recording.missing().to_vec()).collect()
    }

    /// Returns how far the replay has come after this number of references.
    #[must_use]
    pub fn progress(&self, references: u64) -> Progress {
        let recordings = self.programs.iter().map(|program| program.source.recording());
        Progress::new(references, recordings)
    }
}
