//! `man`: writes manual pages.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use super::Cli;

/// Write manual pages, one for each command
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  vfalls man ~/.local/share/man/man1 && man vfalls-stat")]
pub(crate) struct ManArgs {
    /// Write the pages into this directory, which must exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(args: ManArgs) -> anyhow::Result<()> {
    clap_mangen::generate_to(Cli::command(), &args.directory)
        .with_context(|| format!("{}: cannot be written", args.directory.display()))
}
