use tests::program::{has_help, shows_help_without_arguments};

use crate::program::{PROGRAM, command, run_with_input, xtask};

#[test]
fn every_command_has_help_with_examples() {
    let whole = xtask(&["--help"]).assert_success();
    for name in ["test", "prove", "bench", "fuzz", "header", "mutants", "qemu"] {
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
    }
    for name in ["test", "prove", "bench", "fuzz", "mutants", "qemu"] {
        has_help(PROGRAM, "cargo xtask", name);
    }
}

#[test]
fn no_command_is_shown_the_help() {
    shows_help_without_arguments(PROGRAM, "cargo xtask");
}

#[test]
fn mutants_without_cargo_mutants_says_what_to_type() {
    let mut command = command(&["mutants"]);
    command.env("CARGO", "/bin/false");
    run_with_input(command, b"").assert_failure(
        "cargo mutants is missing; install it with: cargo install --locked cargo-mutants@27.1.0",
    );
}
