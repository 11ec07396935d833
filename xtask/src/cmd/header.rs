//! `header`: the header of the C interface.

use crate::cargo::become_package;

/// Write the header of the C interface, guest-abi/c/include/vfperf.h
///
/// The header is made from the tables of guest-abi and the functions of guest-abi-c.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask header --check")]
pub struct HeaderArgs {
    /// Write nothing; the exit status is 1 if the header differs from the source
    #[arg(long)]
    check: bool,
}

/// Runs the program `header` in place of this one. `header` is a separate package, so that other commands build without its dependencies.
pub fn run(args: HeaderArgs) -> anyhow::Result<()> {
    become_package("header", args.check.then_some("--check"))
}
