//! Tests directories in which drmemtrace has written one file per thread.

use std::fs;
use std::path::Path;

use simulator::recording::{Cause, Kind, Order, Recording};
use tempfile::TempDir;
use tests::recordings::{Drmemtrace, kind, zip};

use crate::{gzip, reference, threads};

fn thread(number: u64) -> Drmemtrace {
    Drmemtrace::new(6, 0x40, number)
}

/// Creates a directory as drmemtrace does, with these files.
fn directory(files: &[(&str, Vec<u8>)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    for folder in ["trace", "raw", "aux"] {
        fs::create_dir(path.join(folder)).unwrap();
    }
    fs::write(path.join("raw/drmemtrace.app.1000.1001.raw.lz4"), "raw").unwrap();
    fs::write(path.join("trace/cpu_schedule.bin.zip"), "schedule").unwrap();
    for (name, bytes) in files {
        fs::write(path.join("trace").join(name), bytes).unwrap();
    }
    directory
}

fn open(path: &Path) -> Result<Recording, String> {
    Recording::open(path).map_err(|error| error.to_string())
}

#[test]
fn time_stamps_put_threads_in_order() {
    let late = thread(1001)
        .time(20)
        .instruction(0x100, 4)
        .write(0x1000, 8)
        // Here, a new chunk begins, so the latest time is repeated.
        .time(20)
        .instruction(0x104, 4)
        .time(40)
        .instruction(0x108, 4)
        .end();
    let early = thread(1002)
        .time(10)
        .instruction(0x200, 4)
        .time(15)
        .instruction(0x204, 4)
        .time(30)
        .instruction(0x208, 4)
        .read(0x1000, 8)
        .end();
    let alone = thread(1003).record(kind::INSTR, 2, 0x300).end();
    let directory = directory(&[
        ("drmemtrace.app.1001.4.trace.zip", zip(&[&late])),
        ("drmemtrace.app.1002.5.trace.gz", gzip(&early)),
        ("drmemtrace.app.1003.6.trace", alone),
    ]);
    let fetch = |address| reference(Kind::FetchOther, address, 4);
    let wait = |number| Order::Wait(Cause::Wake, number);
    let expected = [
        // This thread has no time stamp, so it begins first and waits for nothing.
        (vec![reference(Kind::FetchOther, 0x300, 2)], vec![]),
        (
            vec![
                fetch(0x200),
                fetch(0x204),
                reference(Kind::FetchLoad, 0x208, 4),
                reference(Kind::Load, 0x1000, 8),
            ],
            vec![(1, Order::Signal(0)), (2, wait(1)), (2, Order::Signal(2))],
        ),
        (
            vec![
                reference(Kind::FetchStore, 0x100, 4),
                reference(Kind::Store, 0x1000, 8),
                fetch(0x104),
                fetch(0x108),
            ],
            vec![(0, wait(0)), (0, Order::Signal(1)), (3, wait(2)), (3, Order::Signal(3))],
        ),
    ];
    // A user can open either the directory that drmemtrace creates, or the folder inside it that
    // holds the files.
    for path in [directory.path(), &directory.path().join("trace")] {
        let mut recording = open(path).unwrap();
        assert_eq!(recording.references(), Some(9));
        assert_eq!((recording.threads(), recording.strand_of(0)), (3, None));
        let name = path.to_str().unwrap();
        assert_eq!(recording.name(), name);
        let notes = [
            " is a recording of drmemtrace: it has no symbols, and does not tell atomic and floating-point instructions from others",
            " has no locks: time stamps alone order its threads",
        ];
        assert_eq!(recording.notes(), notes.map(|note| format!("{name}{note}")));
        assert_eq!(threads(&mut recording).unwrap(), expected);
        let progress = recording.progress();
        assert!(Some(progress.read) <= progress.total, "{progress:?}");
        assert_eq!(threads(&mut open(path).unwrap().read_ahead()).unwrap(), expected);
    }
}

#[test]
fn directories_that_are_no_recordings_are_refused() {
    let empty = directory(&[]);
    let error = open(empty.path()).unwrap_err();
    let found = "a directory without files such as *.trace.zip, here or in its folder trace";
    assert!(error.contains(&format!(": found {found}, expected a recording of ")), "{error}");

    let text = directory(&[("a.trace", b"0 w 0x1000 8\n".to_vec())]);
    let error = open(text.path()).unwrap_err();
    let found = "trace/a.trace: found something else, expected a file of drmemtrace, as in drmemtrace.*.dir/trace";
    assert!(error.ends_with(found), "{error}");

    let nothing = directory(&[("a.trace", thread(1).end()), ("b.trace", thread(2).end())]);
    let error = open(nothing.path()).unwrap_err();
    assert!(error.ends_with(": found no memory reference, expected at least one"), "{error}");

    // An error names the file of the thread.
    let whole = thread(1).time(1).instruction(0, 4).end();
    let wrong = thread(2).time(2).record(kind::INSTR, 99, 0).end();
    let damaged = directory(&[("a.trace.zip", zip(&[&whole])), ("b.trace.gz", gzip(&wrong))]);
    let error = open(damaged.path()).unwrap_err();
    let found =
        "trace/b.trace.gz: found an instruction of 99 bytes in record 11, expected 1 to 17 bytes";
    assert!(error.ends_with(found), "{error}");

    let lz4 = directory(&[("a.trace.lz4", b"\x04\x22\x4d\x18and more".to_vec())]);
    let error = open(lz4.path()).unwrap_err();
    assert!(error.contains("a.trace.lz4: found a file compressed with lz4, expected"), "{error}");
}
