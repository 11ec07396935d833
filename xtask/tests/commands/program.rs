//! Runs the program that is tested.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

pub(crate) use tests::program::{ProgramOutput, TestDirectory, run_with_input};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_xtask");

pub(crate) fn command(arguments: &[&str]) -> Command {
    tests::program::command(PROGRAM, arguments)
}

pub(crate) fn xtask(arguments: &[&str]) -> ProgramOutput {
    run_with_input(command(arguments), b"")
}

pub(crate) fn place(name: &str) -> TestDirectory {
    TestDirectory::new_in(env!("CARGO_TARGET_TMPDIR"), name)
}

/// Writes a script that takes the place of a program, and returns its path.
pub(crate) fn script(place: &TestDirectory, name: &str, text: &str) -> String {
    let path = place.file(name, format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns the names of the steps that a command lists.
pub(crate) fn listed(arguments: &[&str]) -> Vec<String> {
    let list = xtask(arguments).assert_success();
    list.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}
