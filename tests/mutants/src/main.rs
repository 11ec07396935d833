//! Changes the code in one place at a time. Each change should make a test fail.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "only this workspace uses this program")]

mod assembly;
mod built;
mod checkout;
mod draw;
mod explained;
mod mutant;
mod one_by_one;
mod order;
mod report;
mod sources;
mod statements;
mod steps;
mod values;

use std::process::ExitCode;

use vfalls::exit;

/// Change the code in one place at a time, and check that the tests notice
///
/// The mutants are tested in a copy of the checkout, under target/mutated. Files beside the program's sources list the mutants that no test
/// can notice, with reasons. The exit status is 1 if the tests miss any other mutant.
#[derive(clap::Parser, Debug)]
#[command(name = "mutants")]
enum Command {
    Order(order::Args),
    Values(values::Args),
}

fn main() -> ExitCode {
    exit::main(|command| match command {
        Command::Order(args) => order::run(args),
        Command::Values(args) => values::run(args),
    })
}
