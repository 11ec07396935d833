//! The progress bar of a replay.

use std::io::IsTerminal;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressStyle};
use simulator::recording::Recording;
use simulator::replay::Progress;

use crate::plain;

/// A bar at the terminal that shows how far a replay has come. It is cleared when it is dropped. Without a terminal, nothing is shown.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Returns the bar of a replay of these recordings.
    pub(crate) fn new(recordings: &[Recording]) -> anyhow::Result<Self> {
        if !plain::raw_stderr().is_terminal() {
            return Ok(Self(ProgressBar::hidden()));
        }
        Ok(Self(match Progress::new(0, recordings.iter()).done_of_all() {
            Some((_, all)) => ProgressBar::new(all).with_style(ProgressStyle::with_template(
                "{wide_bar} {percent}% of the recording, {eta} left",
            )?),
            None => ProgressBar::new_spinner().with_style(ProgressStyle::with_template(
                "{spinner} {bytes} of the recording, {elapsed}",
            )?),
        }))
    }

    pub(crate) fn set(&self, progress: Progress) {
        self.0.set_position(progress.done_of_all().map_or(progress.bytes.read, |(done, _)| done));
    }

    /// Shows the progress, and lets the replay go on.
    pub(crate) fn show(&self, progress: Progress) -> ControlFlow<()> {
        self.set(progress);
        ControlFlow::Continue(())
    }

    /// Hides the bar while `print` prints.
    pub(crate) fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.0.suspend(print)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
