//! `run`: guests on a machine that executes.

use crate::cargo::{HandedOn, become_package};

/// Run guests under the hypervisor with the performance counter service, on a simulated machine that executes
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[command(flatten)]
    handed_on: HandedOn,
}

/// Becomes the program `run`, a package of its own, so that other commands are built without what reads symbols.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: Args) -> anyhow::Result<()> {
    become_package("run", &["--release"], args.handed_on.all())
}
