//! `c2c`: which lines nodes take from each other.

use std::env;

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
    let mut arguments = args.handed_on.arguments;
    // clap takes a `--` that comes first for its own.
    if env::args_os().nth(2).is_some_and(|first| first == "--") {
        arguments.insert(0, "--".into());
    }
    become_package("profile", &["--release", "--bin", "c2c"], arguments)
}
