//! Runs the tool without the project's files: from another directory, and with an empty PATH.

use std::collections::BTreeSet;
use std::fs;

use clap::CommandFactory;
use vfalls::cmd::Cli;

use crate::program::{ProgramOutput, TestDirectory, command, run_with_input};

fn alone(place: &TestDirectory, line: &str) -> ProgramOutput {
    let mut command = command(&line.split(' ').collect::<Vec<_>>());
    command.env("PATH", "").current_dir(place.path());
    run_with_input(command, b"0 core 0 0x205 1 1\n")
}

#[test]
fn every_command_needs_no_other_program() {
    let place = TestDirectory::new("alone");
    place.file("machine.toml", include_str!("../../../simulator/machines/batoka-2.toml"));
    let lines = [
        "stat --json a.json --html a.html",
        "stat --place pack --json b.json --events-out events",
        "report -e DC_miss --svg flame.svg --html report.html --json report.json",
        "annotate count_in_one_line -e DC_miss",
        "annotate count_in_one_line --asm",
        "c2c --json c2c.json",
        "top --interval 1000000",
        "diff a.json b.json",
        "table a.json b.json --html table.html",
        "boot --fast --strands 0,64 --json boot.json --html boot.html",
        "conform --quick --only versions,arbitration --json conform.json",
        "page a.json -o page.html",
        "new-image mine",
        "call",
        "regs",
        "events events",
        "clocks --seconds 0.1",
        "completions bash",
        "completions zsh",
        "completions fish",
        "man .",
        "md check machine.toml",
    ];
    let tool = Cli::command();
    let commands: BTreeSet<&str> = tool.get_subcommands().map(|one| one.get_name()).collect();
    // `record` needs QEMU, so the next test covers it.
    let tried = lines.iter().filter_map(|line| line.split(' ').next()).chain(["record"]);
    assert_eq!(tried.collect::<BTreeSet<_>>(), commands);
    for line in lines {
        let ended = alone(&place, line);
        // If none of this computer's clocks can be trusted, `clocks` ends with status 1.
        let good = ended.status == 0 || line.starts_with("clocks") && ended.status == 1;
        assert!(good, "{line}: {}", ended.stderr);
        assert!(!ended.stderr.starts_with("error"), "{line}: {}", ended.stderr);
    }
    for page in ["a.html", "report.html", "boot.html", "page.html", "table.html"] {
        let page = fs::read_to_string(place.path().join(page)).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    }
    assert!(place.path().join("vfalls-stat.1").exists());
}

#[test]
fn record_says_what_to_install() {
    let place = TestDirectory::new("alone-record");
    let program = format!("record -- {}", crate::program::PROGRAM);
    let ended = alone(&place, &program);
    ended.assert_failure(
        "qemu-x86_64 is not installed; install these packages of your system: qemu-user",
    );
    assert_eq!(place.names("."), [""; 0]);
}

#[test]
fn the_first_line_says_which_recording_it_is() {
    let place = TestDirectory::new("alone-recording");
    let first = |line: &str| {
        let ended = alone(&place, line);
        assert_eq!(ended.status, 0, "{line}: {}", ended.stderr);
        ended.stdout.lines().next().unwrap_or_default().to_owned()
    };
    let bundled = "recording: the bundled recording (/tmp/bundled/workload)";
    assert_eq!(first("stat"), bundled);
    assert_eq!(first("report"), format!("# {bundled}"));
    place.file("vfalls.refs", "0 i 0x1000 4\n0 r 0x2000 8\n");
    assert_eq!(first("stat"), "recording: vfalls.refs");
    assert_eq!(first("report"), "# recording: vfalls.refs");
    assert_eq!(first("top"), "recording: vfalls.refs");
    assert_eq!(first("c2c"), "# vfalls.refs: 1 thread");
    place.file("other.txt", "0 i 0x1000 4\n");
    assert_eq!(first("stat other.txt"), "recording: other.txt");
    for verb in ["stat", "top"] {
        assert_eq!(first(&format!("{verb} --bundled")), bundled);
    }
    alone(&place, "stat --bundled other.txt").assert_failure("cannot be used with");
    alone(&place, "report vfalls.refs other.txt").assert_failure("expected one recording, found 2");
}

#[test]
#[ignore = "needs QEMU's user-mode emulator"]
fn a_program_is_recorded_once() {
    let place = TestDirectory::new("recorded-once");
    let run = |line: &str| place.run(line);
    assert_eq!(run("record -- true").status, 0);
    let read = |name: &str| fs::read(place.path().join(name)).unwrap();
    let first = read("vfalls.refs");
    let shown = run("stat");
    assert_eq!(shown.stdout.lines().next(), Some("recording: vfalls.refs (true)"));
    assert_eq!(run("stat -- false").status, 0);
    assert_eq!(read("vfalls.refs.old"), first);
    let second = read("vfalls.refs");
    assert_ne!(second, first);
    for line in ["c2c", "report", "top", "stat"] {
        let ended = run(line);
        assert_eq!(ended.status, 0, "{line}: {}", ended.stderr);
        assert!(ended.stdout.lines().next().unwrap().contains("vfalls.refs"));
    }
    assert_eq!(read("vfalls.refs"), second);
    // If the user names another file, `record` leaves `vfalls.refs` unchanged.
    assert_eq!(run("record -o own.refs -- true").status, 0);
    assert_eq!(read("vfalls.refs"), second);
    run("record -o own.refs -- true").assert_failure("own.refs");
}

/// Nobody can create a file in /proc, not even root.
#[test]
#[ignore = "needs QEMU's user-mode emulator"]
fn a_recording_that_cannot_be_kept_is_replayed() {
    let mut command = command(&["stat", "--", "true"]);
    command.current_dir("/proc");
    let ended = run_with_input(command, b"");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("note: the recording is not kept: vfalls.refs"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("\nTruth: "), "{}", ended.stdout);
}
