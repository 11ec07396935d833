//! Tests the files that `--events-out` and `--events-chrome` write or replace.

use std::fs;
use std::io::Write;

use super::small;
use crate::interrupts::wait_for;
use crate::program::{TestDirectory, command, start, wait};
use crate::stat;

/// Two runs write identical files, including the identifiers in them.
#[test]
fn files_are_the_same_each_time() {
    let place = TestDirectory::new("events-same");
    for directory in ["one", "other"] {
        small(&place, &format!("--events-out {directory}"));
    }
    for name in place.names("one") {
        let [one, other] = ["one", "other"].map(|directory| place.at(directory) + "/" + &name);
        assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{name}");
    }
}

#[test]
fn existing_directories() {
    let place = TestDirectory::new("events-in-the-way");
    place.file("refs.txt", stat::program(100));
    let run = |arguments: &str| place.run(&format!("stat refs.txt --events-out {arguments}"));
    // First the directory is missing, then empty, and then it contains a trace.
    run("events").assert_success();
    fs::remove_dir_all(place.at("events")).unwrap();
    fs::create_dir(place.at("events")).unwrap();
    run("events").assert_success();
    run("events").assert_failure(&format!(
        "error: {}: already exists; --force replaces it",
        place.at("events")
    ));
    place.file("events/strand_001", "left over");
    run("events --force").assert_success();
    assert_eq!(place.names("events"), ["metadata", "strand_000", "strand_248"]);
    // The directory contains a file that is not part of a trace.
    place.file("other/letter", "");
    run("other --force")
        .assert_failure("other: is not empty, and does not hold a trace that vfalls wrote");
    run("refs.txt --force").assert_failure("exists and is not a directory");
    run("no/where").assert_failure("cannot be written");
    // A failed run writes nothing, and deletes nothing.
    place.file("broken.txt", " L 10,8\nnonsense\n");
    place.run("stat broken.txt --events-out new").assert_failure("nonsense");
    place.run("stat broken.txt --events-out events --force").assert_failure("nonsense");
    assert_eq!(place.names("."), ["broken.txt", "events", "other", "refs.txt"]);
    assert_eq!(place.names("events").len(), 3);
}

/// During the replay, another program creates a file, either in the trace's directory or at an output's path.
#[test]
fn what_comes_meanwhile_stays() {
    let place = TestDirectory::new("events-meanwhile");
    let [directory, file, letter] =
        ["events", "events.json", "events/letter"].map(|name| place.at(name));
    small(&place, "--events-out events");
    let trace = place.names("events");
    for (arguments, came) in [
        (&["--events-out", &*directory, "--force"][..], &letter),
        (&["--events-chrome", &file], &file),
    ] {
        let mut replay = start(command(&[&["stat", "-"], arguments].concat()));
        let mut input = replay.stdin.take().unwrap();
        input.write_all(stat::program(100).as_bytes()).unwrap();
        let hidden = |name: &String| name.ends_with(".partial");
        wait_for(|| place.names(".").iter().any(hidden).then_some(()));
        fs::write(came, "mine").unwrap();
        drop(input);
        let said = format!(
            "error: {came}: was created in the meantime and is not replaced; nothing was written\n"
        );
        wait(replay).assert_failure(&said);
        assert_eq!(fs::read(came).unwrap(), b"mine");
        fs::remove_file(came).unwrap();
        assert_eq!(place.names("."), ["events", "refs.txt"]);
        assert_eq!(place.names("events"), trace);
    }
}

#[test]
fn existing_files() {
    let place = TestDirectory::new("events-files");
    place.file("refs.txt", stat::program(100));
    for option in ["--json", "--events-chrome"] {
        let file = place.file("file", "mine");
        let stat = format!("stat refs.txt {option} file");
        place.run(&stat).assert_failure("error: file: already exists; --force replaces it");
        assert_eq!(fs::read(&file).unwrap(), b"mine");
        place.run(&format!("{stat} --force")).assert_success();
        assert!(place.json("file").is_object());
    }
}
