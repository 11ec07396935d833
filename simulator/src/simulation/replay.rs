//! The replay of the programs on their strands.

use guest_abi::event::SparcEvent;

use super::error::RunError;
use super::outcome::ThreadResults;
use super::setup::Simulation;
use super::threads::Threads;
use crate::details::{Details, Watcher};
use crate::machine::board::Board;
use crate::memory::{MemorySystem, Truth, Usage};
use crate::placement::Placement;
use crate::recording::Recording;
use crate::scheduler::Scheduler;

/// The most references without a pause.
const PAUSE: u64 = 1 << 14;

/// The most references between two readings of the counters, so that no counter of 31 bits wraps twice in between.
const LONGEST_UNREAD: u64 = 1_000_000;

/// As [`LONGEST_UNREAD`], for counters of how long lines are in the queue of a DRAM channel.
const MOST_UNREAD_CYCLES: u64 = 1 << 30;

/// The events that a recording without flow does not bring about.
const BRANCHES: [SparcEvent; 2] = [SparcEvent::BranchesCompleted, SparcEvent::BranchesTaken];

/// A replay of the programs.
pub(super) struct Replay {
    scheduler: Scheduler,
    memory: MemorySystem,
    /// The references until now.
    pub(super) references: u64,
    threads: Threads,
    details: Option<Box<Watcher>>,
    /// What somebody who reads the results should know of programs whose branches are not known.
    notes: Vec<String>,
    /// The references, and the cycles of lines in a queue, when the counters were read.
    read: (u64, u64),
}

impl Replay {
    /// Returns the replay of a simulation, which begins with the first reference of each thread.
    pub(super) fn new(simulation: &mut Simulation) -> Self {
        let mut programs = std::mem::take(&mut simulation.setup.programs);
        let placed = &simulation.placed;
        let dealt = matches!(simulation.placement, Placement::Deal(_));
        let pic = simulation.setup.selection.pic.as_ref();
        let counts_branches = pic.is_some_and(|choice| {
            let mut events = choice
                .counters()
                .iter()
                .map(|counter| choice.event(*counter));
            events.any(|event| BRANCHES.contains(&event))
        });
        let branches_unknown = programs
            .iter()
            .filter(|program| counts_branches && !program.has_flow());
        let note = |program: &Recording| {
            let name = program.name();
            format!("{name} does not say which instructions are branches: none is counted as one")
        };
        let notes = branches_unknown.map(note).collect();
        let mut memory = simulation.memory.clone();
        let details = (simulation.setup.details).then(|| {
            memory.note_moves();
            Box::new(Watcher::new(&programs, dealt))
        });
        let scheduler = match programs.pop() {
            Some(program) if dealt => Scheduler::dealing(program, placed),
            last => {
                programs.extend(last);
                Scheduler::new(programs, placed)
            }
        };
        let number = |number| if dealt { 0 } else { number };
        let threads = placed.iter().enumerate();
        Self {
            threads: Threads::new(threads.map(|(thread, strand)| (number(thread), *strand))),
            scheduler,
            memory,
            details,
            references: 0,
            notes,
            read: (0, 0),
        }
    }

    /// Replays references, at most `most`, or less if the caller should report its progress or
    /// [read the counters](Self::is_long_unread). Returns `false` if all threads have ended.
    ///
    /// # Errors
    /// A recording cannot be read any further.
    pub(super) fn next(&mut self, most: u64, board: &Board<'_>) -> Result<bool, RunError> {
        let unread = LONGEST_UNREAD - (self.references - self.read.0);
        let until = self.references + most.min(PAUSE).min(unread);
        let began = self.references;
        let mut work = self.memory.work(board.devices());
        while self.references < until {
            let most = (until - self.references) as usize;
            let Some((thread, quantum)) = self.scheduler.next(most)? else {
                break;
            };
            let begins = quantum.begins;
            self.threads.begin(thread, quantum.strand, work.truth());
            let executed = match &mut self.details {
                None => work.replay(&quantum),
                Some(details) => work.watch(&quantum, |reference, watched| {
                    let place = (quantum.strand, quantum.offset);
                    details.note(thread, place, reference, watched);
                }),
            };
            let cycles = self.scheduler.executed(&executed);
            self.references += executed.references as u64;
            self.threads.executed(thread, &executed, begins, cycles);
        }
        Ok(self.references > began)
    }

    /// The counters catch up with what happened until now.
    pub(super) fn catch_up(&mut self, board: &Board<'_>) {
        let work = self.memory.work(board.devices());
        work.finish(self.scheduler.now());
    }

    /// Returns `true` if the counters have to be read before the replay goes on. (A guest reads them every so many seconds; what
    /// it counts in this time depends on the program.)
    pub(super) fn is_long_unread(&self) -> bool {
        let (references, cycles) = self.read;
        self.references - references == LONGEST_UNREAD
            || self.truth().most_queued() - cycles > MOST_UNREAD_CYCLES
    }

    /// The counters have been read.
    pub(super) fn note_read(&mut self) {
        self.read = (self.references, self.truth().most_queued());
    }

    /// Returns the bytes of the recordings that have been read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.scheduler.progress().read
    }

    /// Returns what somebody who reads the results should know of the replay.
    pub(super) fn notes(&self) -> Vec<String> {
        [self.scheduler.notes(), self.notes.clone()].concat()
    }

    /// Returns who watches it for details, if somebody does.
    pub(super) fn watcher(&mut self) -> Option<&mut Watcher> {
        self.details.as_deref_mut()
    }

    /// Returns the details until now, if they are collected.
    pub(super) fn details(&self) -> Option<Details> {
        let (now, memory) = (self.truth().cycles(), &self.memory);
        let details = self.details.as_ref()?;
        Some(details.details(now, memory.moves().collect(), |line| memory.home(line)))
    }

    /// Returns how channels, hubs and links were used until now.
    pub(super) fn usage(&self) -> Usage {
        self.memory.usage()
    }

    /// Returns what the threads did until now.
    pub(super) fn threads(&self) -> Vec<ThreadResults> {
        self.threads.results(self.truth())
    }

    /// Returns what happened until now.
    pub(super) fn truth(&self) -> &Truth {
        self.memory.truth()
    }
}
