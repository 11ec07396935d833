//! `top`: a simulation while it runs.

use crate::cargo::{HandedOn, become_package};

/// Show a simulation while it runs: nodes, threads, memory, code, hypercalls and counters
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[command(flatten)]
    handed_on: HandedOn,
}

/// Becomes the program `top`, a package of its own, so that other commands are built without what draws on terminals.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: Args) -> anyhow::Result<()> {
    become_package("top", &["--release"], args.handed_on.all())
}
