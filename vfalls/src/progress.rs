//! Shows on a terminal how much has been replayed.

use std::io::IsTerminal as _;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressStyle};
use simulator::recording::Recording;
use simulator::replay::Progress;

use crate::plain;

/// Returns a progress bar for a terminal, which shows how much of these recordings has been replayed.
pub(crate) fn progress_bar(recordings: &[Recording]) -> anyhow::Result<ProgressBar> {
    if !plain::raw_stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let bar = ProgressBar::new_spinner()
        .with_style(ProgressStyle::with_template("{spinner} {human_pos} references, {elapsed}")?);
    if let Some((_, all)) = Progress::new(0, recordings.iter()).done_of_all() {
        set_length(&bar, all);
    }
    Ok(bar)
}

/// Shows the progress, and lets the replay go on.
pub(crate) fn advance(bar: &ProgressBar, progress: Progress) -> ControlFlow<()> {
    // When a replay begins, the references of a compressed recording are still being counted.
    if bar.length().is_none()
        && let Some((_, all)) = progress.done_of_all()
    {
        set_length(bar, all);
    }
    bar.set_position(progress.references);
    ControlFlow::Continue(())
}

fn set_length(bar: &ProgressBar, all: u64) {
    let template =
        ProgressStyle::with_template("{wide_bar} {percent}% of the recording, {eta} left");
    if let Ok(style) = template {
        bar.set_style(style);
        bar.set_length(all);
    }
}
