//! Runs `prove` with scripts in place of cargo and rustup. The scripts only log their calls.

use std::fs;

use crate::program::{ProgramOutput, command, listed, place, run_with_input, script, xtask};

/// Runs `prove` with `arguments`, and a rustup that cannot run Miri. Returns how `prove` ended, and the logged calls.
fn prove(name: &str, arguments: &[&str]) -> (ProgramOutput, Vec<String>) {
    let place = place(name);
    let log = place.path().join("log");
    let logs = "echo \"$* [$RUSTFLAGS $SCHEDULES$PREEMPTIONS]\" >>";
    let cargo = script(&place, "cargo", &format!("{logs} {}", log.display()));
    script(&place, "rustup", "exit 1");
    let mut command = command(&["prove"]);
    command.args(arguments).env("CARGO", cargo).env("PATH", place.path()).env_remove("RUSTFLAGS");
    let ended = run_with_input(command, b"");
    let log = fs::read_to_string(log).unwrap_or_default();
    (ended, log.lines().map(str::to_owned).collect())
}

#[test]
fn steps_are_listed() {
    assert_eq!(
        listed(&["prove", "--list"]),
        [
            "states",
            "orders",
            "stores",
            "loom",
            "shuttle",
            "failures",
            "boundaries",
            "pairs",
            "attacks",
            "directories",
            "fast-path",
            "growth",
            "overflow",
            "miri",
            "big-endian",
            "parallel",
            "slurm",
            "mutants"
        ]
    );
    assert_eq!(
        xtask(&["prove", "--only", "miri", "--list"]).assert_success(),
        "miri         tests with threads in Miri, with many seeds\n"
    );
    xtask(&["prove", "--only", "coq"]).assert_failure("'coq'");
}

#[test]
fn one_step_is_run() {
    let (ended, log) = prove("prove-shuttle", &["--only", "shuttle"]);
    assert_eq!((ended.status, &*ended.stderr), (0, ""));
    assert_eq!(
        ended.stdout.lines().next(),
        Some("[1/1] a million random schedules of shuttle, and a million of PCT")
    );
    assert_eq!(ended.stdout.lines().last(), Some("1 passed, 0 failed"));
    let test = "test --quiet --profile=quick --target-dir=target/shuttle";
    let expected = [
        format!(
            "{test} --package=sun4v-hv-core --package=sun4v-perfctr-service --lib -- shuttle_ [--cfg shuttle 100]"
        ),
        format!("{test} --package=tests --test=shuttle -- [--cfg shuttle 100]"),
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_missing_miri_ends_it_after_the_others() {
    let (ended, log) = prove("prove-miri", &[]);
    assert_eq!(
        (ended.status, &*ended.stderr),
        (
            1,
            "error: tests with threads in Miri, with many seeds: Miri is missing; type: \
             rustup toolchain install nightly --component miri --component rust-src\n"
        )
    );
    assert_eq!(ended.stdout.lines().last(), Some("13 passed, 1 failed"));
    assert_eq!(log[0], "run --quiet --profile=quick --package=proof -- --all [ ]");
}
