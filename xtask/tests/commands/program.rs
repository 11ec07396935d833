//! The program that is tested.

use std::process::Command;

pub(crate) use tests::program::{Ended, end};

/// Its path.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_xtask");

/// Returns a call of the program with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

/// Runs the program without input.
pub(crate) fn xtask(arguments: &[&str]) -> Ended {
    end(command(arguments), b"")
}

/// Makes a directory for a test.
pub(crate) fn place(name: &str) -> tests::program::Place {
    tests::program::Place::below(env!("CARGO_TARGET_TMPDIR"), name)
}
