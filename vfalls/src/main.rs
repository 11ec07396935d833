//! `vfalls`: see `vfalls --help`.

use std::process::ExitCode;

use vfalls::cmd::Cli;
use vfalls::exit;

fn main() -> ExitCode {
    exit::main(Cli::run)
}
