//! Files that `--events-out` and `--events-chrome` write or find.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{json, path, small};
use crate::program::{Place, command, vfalls};
use crate::stat;

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Identifiers, too, are the same.
#[test]
fn files_are_the_same_each_time() {
    let place = Place::new("events-same");
    let [one, other] = ["one", "other"].map(|name| path(&place, name));
    for directory in [&one, &other] {
        small(&place, &["--events-out", directory]);
    }
    for name in names(Path::new(&one)) {
        let [one, other] =
            [&one, &other].map(|path| fs::read(Path::new(path).join(&name)).unwrap());
        assert!(one == other, "{name}");
    }
}

#[test]
fn existing_directories() {
    let place = Place::new("events-in-the-way");
    let refs = place.file("refs.txt", stat::program(100));
    let run = |directory: &str, more: &[&str]| {
        let mut all = vec!["stat", &refs, "--events-out", directory];
        all.extend(more);
        vfalls(&all)
    };
    let directory = path(&place, "events");
    // The directory is missing, then empty, then holds a trace.
    run(&directory, &[]).well();
    fs::remove_dir_all(&directory).unwrap();
    fs::create_dir(&directory).unwrap();
    run(&directory, &[]).well();
    run(&directory, &[]).badly(&format!("{directory}: is there; --force replaces it"));
    fs::write(Path::new(&directory).join("strand_001"), "left over").unwrap();
    run(&directory, &["--force"]).well();
    assert_eq!(names(Path::new(&directory)), ["metadata", "strand_000", "strand_248"]);
    // The directory holds something else.
    let other = path(&place, "other");
    fs::create_dir(&other).unwrap();
    fs::write(Path::new(&other).join("letter"), "").unwrap();
    run(&other, &["--force"])
        .badly(&format!("{other}: is not empty, and holds no trace of this program"));
    run(&refs, &["--force"]).badly("is there and is no directory");
    run(&path(&place, "no/where"), &[]).badly("cannot be written");
    // A failed run writes nothing, and deletes nothing.
    let broken = place.file("broken.txt", " L 10,8\nnonsense\n");
    vfalls(&["stat", &broken, "--events-out", &path(&place, "new")]).badly("nonsense");
    vfalls(&["stat", &broken, "--events-out", &directory, "--force"]).badly("nonsense");
    assert_eq!(names(place.path()), ["broken.txt", "events", "other", "refs.txt"]);
    assert_eq!(names(Path::new(&directory)).len(), 3);
}

/// Another program puts a file into the directory, or beside it under the name of another output, during the replay.
#[test]
fn what_comes_meanwhile_stays() {
    let place = Place::new("events-meanwhile");
    let [directory, file, letter] =
        ["events", "events.json", "events/letter"].map(|name| path(&place, name));
    small(&place, &["--events-out", &directory]);
    let trace = names(Path::new(&directory));
    for (arguments, came) in [
        (&["--events-out", &*directory, "--force"][..], &letter),
        (&["--events-chrome", &file], &file),
    ] {
        let mut simulation = command(&["stat", "-"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = simulation.stdin.take().unwrap();
        input.write_all(stat::program(100).as_bytes()).unwrap();
        let hidden = |name: &String| name.ends_with(".partial");
        while !names(place.path()).iter().any(hidden) {
            thread::sleep(Duration::from_millis(1));
        }
        fs::write(came, "mine").unwrap();
        drop(input);
        let output = simulation.wait_with_output().unwrap();
        let said = format!("error: {came}: has come meanwhile, and stays; nothing was written\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(fs::read(came).unwrap(), b"mine");
        fs::remove_file(came).unwrap();
        assert_eq!(names(place.path()), ["events", "refs.txt"]);
        assert_eq!(names(Path::new(&directory)), trace);
    }
}

#[test]
fn existing_files() {
    let place = Place::new("events-files");
    let refs = place.file("refs.txt", stat::program(100));
    for option in ["--json", "--events-chrome"] {
        let file = place.file("file", "mine");
        let run = |more: &[&str]| vfalls(&[&["stat", &refs, option, &file], more].concat());
        run(&[]).badly(&format!("{file}: is there; --force replaces it"));
        assert_eq!(fs::read(&file).unwrap(), b"mine");
        run(&["--force"]).well();
        assert!(json(&file).is_object());
    }
}
