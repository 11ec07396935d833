//! The tool under test.

use std::path::Path;
use std::process::Command;

pub(crate) use tests::program::{Ended, end};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_vfalls");

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

pub(crate) fn vfalls(arguments: &[&str]) -> Ended {
    with_input(arguments, "")
}

pub(crate) fn with_input(arguments: &[&str], input: impl AsRef<[u8]>) -> Ended {
    end(command(arguments), input.as_ref())
}

pub(crate) struct Place(tests::program::Place);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        Self(tests::program::Place::below(env!("CARGO_TARGET_TMPDIR"), name))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program in this directory, without input. The arguments are the words of `line`.
    pub(crate) fn run(&self, line: &str) -> Ended {
        self.0.run(Command::new(PROGRAM), line)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.0.file(name, content)
    }
}
