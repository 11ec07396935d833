//! Commands that are packages of their own: what cargo is called with, by a script that takes its place.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::{Place, command, end};

/// Runs the program, which calls cargo once. Returns the last of cargo's arguments.
fn called(arguments: &[&str], last: usize) -> Vec<String> {
    let place = Place::new(&arguments.join("-"));
    let cargo = place.file("cargo", "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 3\n");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(arguments);
    let ended = end(
        {
            command.env("CARGO", cargo);
            command
        },
        b"",
    );
    assert_eq!((ended.status, &*ended.stderr), (3, ""));
    let all: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
    assert_eq!(all[..2], ["run", "--quiet"]);
    let package = all
        .iter()
        .position(|argument| argument == "--package")
        .unwrap();
    assert_eq!(all[package + 1], arguments[0]);
    all[all.len() - last..].to_vec()
}

#[test]
fn arguments_are_handed_on() {
    assert_eq!(
        called(&["profile", "-c", "10", "--help"], 5),
        ["--release", "--", "-c", "10", "--help"]
    );
    assert_eq!(
        called(&["clocks", "--help"], 3),
        ["--release", "--", "--help"]
    );
    assert_eq!(called(&["profile"], 2), ["--release", "--"]);
    assert_eq!(called(&["header", "--check"], 2), ["--", "--check"]);
}
