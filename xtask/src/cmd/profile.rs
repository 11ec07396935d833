//! `profile`: which code causes the events.

use crate::cargo::{HandedOn, become_package};

/// Replay a program on a simulated machine, sample it with the counters of its processors, and show which functions or pages
/// cause the events
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[command(flatten)]
    handed_on: HandedOn,
}

/// Becomes the program `profile`, a package of its own, so that other commands are built without what reads symbols and
/// draws flame graphs.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: Args) -> anyhow::Result<()> {
    let options = ["--release", "--bin", "profile"];
    become_package("profile", &options, args.handed_on.all())
}
