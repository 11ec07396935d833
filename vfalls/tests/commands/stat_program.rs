//! Tests `stat -- COMMAND` with the real emulator. `cargo xtask test` runs these tests.

use std::fs;
use std::process::Stdio;

use crate::interrupts::{ended, send, wait_for};
use crate::program::{TestDirectory, command, run_with_input};

#[test]
#[ignore = "needs QEMU's user-mode emulator"]
fn a_program_runs_and_is_replayed() {
    let place = TestDirectory::new("stat-program");
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let arguments = ["stat", "--json", "results.json", "--", "sh", "-c"];
    let mut stat = command(&[&arguments[..], &["read line; echo \"$line\"; exit 3"]].concat());
    stat.env("TMPDIR", &temporary).current_dir(place.path());
    let ended = run_with_input(stat, b"hello\n");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    // The program's own output comes first.
    assert!(ended.stdout.starts_with("hello\nrecording: vfalls.refs (sh -c "), "{}", ended.stdout);
    let program = "recording: vfalls.refs (sh -c 'read line; echo \"$line\"; exit 3')\n";
    assert!(ended.stdout.contains(program), "{}", ended.stdout);
    assert!(ended.stderr.contains("of 1 thread in vfalls.refs\n"), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("note: sh exited with status 3\n"), "{}", ended.stderr);
    let results = place.json("results.json");
    assert_eq!(results["notes"][0], "sh exited with status 3");
    assert_eq!(results["threads"].as_array().unwrap().len(), 1);
    assert_eq!(place.names("tmp"), [""; 0]);
}

#[test]
#[ignore = "needs QEMU's user-mode emulator"]
fn a_long_command_is_cut() {
    let place = TestDirectory::new("stat-long-command");
    let ended = place.run(&format!("stat -- true{}", " argument".repeat(1000)));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let line = ended.stdout.lines().next().unwrap();
    // The line shows the first 100 characters of the command.
    let expected = "recording: vfalls.refs (true argument argument argument argument argument argument argument argument argument \
                    argument argum...)";
    assert_eq!(line, expected);
}

#[test]
#[ignore = "needs QEMU's user-mode emulator"]
fn an_interrupt_ends_the_program_and_leaves_nothing() {
    let place = TestDirectory::new("stat-program-interrupted");
    let stat = command(&["stat", "--", "sleep", "1000"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let grows = || {
        let file = fs::read_dir(place.path()).unwrap().next()?.unwrap();
        (file.metadata().unwrap().len() > 1_000).then_some(())
    };
    wait_for(grows);
    send("INT", &stat);
    assert_eq!(ended(stat), Some(130));
    assert_eq!(place.names("."), [""; 0]);
}
