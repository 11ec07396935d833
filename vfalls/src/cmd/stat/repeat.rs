//! Makes several recordings of one program.

use crate::cmd::source::{ReplaySource, SourceArgs};

#[derive(clap::Args, Debug)]
pub(crate) struct RepeatArgs {
    /// Record the program N times, replay each recording, and print the least, median and most cycles. The last recording is shown and
    /// kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), requires = "command", conflicts_with_all = ["scenario", "list"])]
    repeat: Option<u32>,
}

impl RepeatArgs {
    /// Makes all recordings of the program except the last one.
    pub(super) fn record(&self, source: &SourceArgs) -> anyhow::Result<Vec<ReplaySource>> {
        let all = self.repeat.unwrap_or(1);
        (1..all).map(|number| source.record_aside(number, all)).collect()
    }
}
