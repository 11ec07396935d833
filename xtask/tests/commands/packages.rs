//! Tests commands that are separate packages. A script takes cargo's place and shows its arguments.

use crate::program::{command, place, run_with_input, script};

/// Runs the program with a cargo that shows its arguments. The program calls cargo once, to run the
/// package `package`. Returns the last `last` arguments.
fn called(package: &str, arguments: &[&str], last: usize) -> Vec<String> {
    let place = place(&arguments.join("-").replace('/', ""));
    let cargo = script(&place, "cargo", "printf '%s\\n' \"$@\"\nexit 3");
    let mut command = command(arguments);
    command.env("CARGO", cargo);
    let ended = run_with_input(command, b"");
    assert_eq!((ended.status, &*ended.stderr), (3, ""));
    let all: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
    assert_eq!(all[..2], ["run", "--quiet"]);
    let at = all.iter().position(|argument| argument == "--package");
    assert_eq!(all[at.unwrap() + 1], package);
    all[all.len() - last..].to_vec()
}

#[test]
fn arguments_are_handed_on() {
    assert_eq!(called("header", &["header", "--check"], 2), ["--", "--check"]);
}
