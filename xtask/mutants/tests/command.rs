//! The program as a person or a script runs it, by `cargo xtask mutants`.

#[path = "../../tests/commands/program.rs"]
#[allow(dead_code, reason = "other commands need more of it")]
mod program;

use crate::program::{command, end, xtask};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_mutants");

#[test]
fn without_cargo_mutants() {
    let mut command = command(&[]);
    command.env("CARGO", "/bin/false");
    end(command, b"").badly(
        "cargo mutants is missing; install it with: cargo install --locked cargo-mutants@27.1.0",
    );
}

#[test]
fn help_has_examples() {
    let help = xtask(&["--help"]).well();
    for text in [
        "Usage: cargo xtask mutants",
        "  cargo xtask mutants --seed",
        "Example",
    ] {
        assert!(help.contains(text), "{text}:\n{help}");
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "{help}"
    );
}
