//! `cargo xtask`: see `cargo xtask --help`.

use std::process::ExitCode;

use clap::Parser;
use vfalls::exit;
use xtask::cmd::{api, bench, bundle, fuzz, header, mutants, prove, qemu, test};

/// Build and check the project; `cargo vfalls` is the tool itself
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true,
    after_help = "Examples:\n  cargo xtask test\n  cargo xtask qemu\n  cargo xtask bench"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

vfalls::commands! {
    Test: test::TestArgs, Prove: prove::ProveArgs, Bench: bench::BenchArgs,
    Fuzz: fuzz::FuzzArgs, Header: header::HeaderArgs, Mutants: mutants::MutantsArgs, Qemu: qemu::QemuArgs,
    Bundle: bundle::BundleArgs, Api: api::ApiArgs,
}

fn main() -> ExitCode {
    exit::main(|cli: Cli| cli.command.run())
}
