//! Tests the paths that a recording or an ELF file names.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::hostile::recording;
use crate::program::{PROGRAM, TestDirectory, run_with_input};

/// Runs `vfalls` with these arguments, limited to 20 seconds and 1 GB of address space.
fn run(place: &TestDirectory, arguments: &str) -> (i32, String) {
    let mut shell = Command::new("sh");
    let line = format!("ulimit -v 1000000; exec timeout 20 \"$0\" {arguments}");
    shell.args(["-c", &line, PROGRAM]).current_dir(place.path());
    let ended = run_with_input(shell, b"");
    (ended.status, ended.stderr)
}

#[test]
fn a_recording_opens_ordinary_files_only() {
    let place = TestDirectory::new("hostile-paths");
    let made = Command::new("mkfifo").arg(place.at("pipe")).status().unwrap();
    assert!(made.success());
    symlink("/dev/zero", place.at("zero")).unwrap();
    for path in [
        &*place.at("pipe"),
        &place.at("zero"),
        "/dev/zero",
        "/dev/random",
        "/dev/kmsg",
        "/dev/ptmx",
        "/proc/self/maps",
        "/proc/kmsg",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/",
    ] {
        fs::write(place.at("refs"), recording("a", path, &[])).unwrap();
        for command in
            ["report refs", "report --html page --force refs", "c2c refs", "top refs", "stat refs"]
        {
            let (status, said) = run(&place, command);
            assert_eq!(status, 0, "{path}: {command}: {said}");
            let note = format!("note: functions without names: {path}: ");
            if command.starts_with("report") {
                let why = said.strip_prefix(&note).unwrap_or_else(|| panic!("{path}: {said}"));
                // On this computer, the file may be missing or unreadable.
                let ordinary = why != "is not a regular file\n";
                assert!(!ordinary || why.starts_with("cannot be read: "), "{path}: {said}");
            }
        }
    }
}

/// The debugging information names the source file, and another file with more debugging information.
#[test]
fn debugging_information_opens_ordinary_files_only() {
    let place = TestDirectory::new("hostile-debugging");
    let source = "static inline __attribute__((always_inline)) int inner(int n) { return 3 * n; }\n\
                  int main(int n) { return inner(n); }\n";
    for (elf, options, named) in [("whole", "", "a.c"), ("split", "-gsplit-dwarf", "split-a.dwo")] {
        place.file("a.c", source);
        let mut cc = Command::new("cc");
        cc.args(["-g", "-O1", "-no-pie", "-nostdlib", "-e", "main", "-Wl,-Ttext=0x1000"]);
        cc.args(["-Wl,--build-id=none", "-o", elf, "a.c"]);
        cc.args(options.split_whitespace()).current_dir(place.path());
        assert!(cc.status().unwrap().success());
        fs::write(place.at("refs"), recording("a", &place.at(elf), &[])).unwrap();
        let stacks = || {
            let said = run(&place, "report -e instructions -c 10 --folded folded --force refs");
            assert_eq!(said, (0, String::new()), "{elf}");
            assert_eq!(run(&place, "annotate -c 10 main refs").0, 0, "{elf}");
            fs::read_to_string(place.at("folded")).unwrap()
        };
        assert_eq!(stacks(), "main;inner 9\npage 0x1000 1\n", "{:?}", place.names("."));
        fs::remove_file(place.at(named)).unwrap();
        symlink("/dev/zero", place.at(named)).unwrap();
        let without = if elf == "split" {
            "main 9\npage 0x1000 1\n"
        } else {
            "main;inner 9\npage 0x1000 1\n"
        };
        assert_eq!(stacks(), without);
        fs::remove_file(place.at(named)).unwrap();
        assert!(Command::new("mkfifo").arg(place.at(named)).status().unwrap().success());
        assert_eq!(stacks(), without);
        fs::remove_file(place.at(named)).unwrap();
    }
}
