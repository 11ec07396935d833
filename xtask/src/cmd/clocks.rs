//! `clocks`: which clocks of this machine can be trusted.

use crate::cargo::{HandedOn, become_package};

/// Measure the clocks of this machine, and choose one as a hypervisor does
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[command(flatten)]
    handed_on: HandedOn,
}

/// Becomes the program `clocks`, a package of its own, because it serves no other command.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: Args) -> anyhow::Result<()> {
    become_package("clocks", &["--release"], args.handed_on.arguments)
}
