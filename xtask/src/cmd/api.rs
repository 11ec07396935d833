//! `api`: the listings of public items.

use crate::cargo::become_package;

/// List the public items of the library crates in xtask/api/listings
///
/// The listings are committed, so that a review sees each change of an interface.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask api --check")]
pub struct ApiArgs {
    /// Write nothing; the exit status is 1 if a listing differs from the source
    #[arg(long)]
    check: bool,
}

/// Runs the program `api` in place of this one. `api` is a separate package, so that other commands build without its dependencies.
pub fn run(args: ApiArgs) -> anyhow::Result<()> {
    become_package("api", args.check.then_some("--check"))
}
