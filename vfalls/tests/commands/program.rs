use std::fs;
use std::ops::Deref;
use std::process::Command;

use serde_json::Value;

pub(crate) use tests::program::{ProgramOutput, contains_all, run_with_input, start, wait};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_vfalls");

pub(crate) fn command(arguments: &[&str]) -> Command {
    tests::program::command(PROGRAM, arguments)
}

pub(crate) fn vfalls(arguments: &[&str]) -> ProgramOutput {
    with_input(arguments, "")
}

pub(crate) fn with_input(arguments: &[&str], input: impl AsRef<[u8]>) -> ProgramOutput {
    run_with_input(command(arguments), input.as_ref())
}

pub(crate) struct TestDirectory(tests::program::TestDirectory);

impl TestDirectory {
    pub(crate) fn new(name: &str) -> Self {
        Self(tests::program::TestDirectory::new_in(env!("CARGO_TARGET_TMPDIR"), name))
    }

    /// Runs the program in this directory with an empty input. `line` contains the arguments, separated by spaces.
    pub(crate) fn run(&self, line: &str) -> ProgramOutput {
        self.0.run(Command::new(PROGRAM), line)
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.at(name)).unwrap()).unwrap()
    }
}

impl Deref for TestDirectory {
    type Target = tests::program::TestDirectory;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// Returns a line with exactly one space between words.
pub(crate) fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
