//! `c2c`: which lines nodes take from each other.

use crate::cargo::{HandedOn, become_package};

/// Show which lines of memory the nodes take from each other, and who uses which of their bytes
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[command(flatten)]
    handed_on: HandedOn,
}

/// Becomes the program `c2c` of the package `profile`, which reads symbols.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: Args) -> anyhow::Result<()> {
    let options = ["--release", "--bin", "c2c"];
    become_package("profile", &options, args.handed_on.all())
}
