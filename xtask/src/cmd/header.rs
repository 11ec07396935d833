//! `header`: the C header of guest-abi.

use crate::cargo::become_package;

/// Write the C header of guest-abi, guest-abi/include/sun4v_perf.h
///
/// The header is made from the tables and the C interface (feature `capi`) of guest-abi.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask header --check")]
pub struct HeaderArgs {
    /// Write nothing; the exit status is 1 if the header differs from the source
    #[arg(long)]
    check: bool,
}

/// Becomes the program `header`, a package of its own, so that other commands are built without what it depends on.
///
/// # Errors
/// cargo cannot be run.
pub fn run(args: HeaderArgs) -> anyhow::Result<()> {
    become_package("header", args.check.then_some("--check"))
}
