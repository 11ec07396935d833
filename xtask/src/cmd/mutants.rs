//! `mutants`: do the tests notice defects?

use crate::cargo::{HandedOn, become_package};

/// Change the code in one place at a time, and check that the tests notice
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[command(flatten)]
    handed_on: HandedOn,
}

/// Becomes the program `mutants`, a package of its own, because it serves no other command.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: Args) -> anyhow::Result<()> {
    become_package("mutants", &["--release"], args.handed_on.arguments)
}
