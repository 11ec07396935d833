//! Shows other tools' recordings in every view.

use std::fs;

use tests::recordings::{ChampSim, Drmemtrace, filetype, kind, zip};

use crate::program::{TestDirectory, contains_all, squeezed, with_input};

/// Returns a drmemtrace thread that executes 500 iterations of a loop. Each thread reads and writes its own counter. The counters of all
/// threads are in one cache line.
fn thread(number: u64) -> Vec<u8> {
    let filetype = filetype::X86_64 | filetype::ENCODINGS;
    let mut thread = Drmemtrace::new(6, filetype, 1000 + number);
    for iteration in 0..500 {
        if iteration % 100 == 0 {
            thread = thread.time(13_000_000 + 10 * iteration + number);
        }
        thread = thread
            .instruction(0x40_1000, 4)
            .read(0x1000 + 8 * number, 8)
            .instruction(0x40_1004, 4)
            .write(0x1000 + 8 * number, 8)
            .record(kind::TAKEN_JUMP, 2, 0x40_1008);
    }
    thread.end()
}

/// Returns the loop of `thread` as a ChampSim recording.
fn champsim() -> Vec<u8> {
    let plain = |address| ChampSim { address, ..ChampSim::default() };
    let iteration = [
        ChampSim { loads: [0x1000, 0, 0, 0], ..plain(0x40_1000) },
        ChampSim { stores: [0x1000, 0], ..plain(0x40_1004) },
        ChampSim {
            is_branch: 1,
            is_taken: 1,
            written: [26, 0],
            read: [26, 25, 0, 0],
            ..plain(0x40_1008)
        },
    ];
    iteration.iter().flat_map(ChampSim::bytes).collect::<Vec<_>>().repeat(500)
}

/// Returns a text recording of two threads that execute the loop of `thread`.
fn by_hand() -> String {
    let iteration = "P0 i 0x401000\nP0 r 0x1000\nP0 i 0x401004\nP0 w 0x1000\n\
                     P64 i 0x401000\nP64 r 0x1008\nP64 i 0x401004\nP64 w 0x1008\n";
    iteration.repeat(500)
}

/// A recording of two threads, and the results that every view shows for it.
struct Case {
    name: &'static str,
    notes: &'static [&'static str],
    threads: usize,
    instructions: u64,
    /// What `c2c` shows about the cache lines that move between nodes.
    moving: &'static [&'static str],
}

const NO_SYMBOLS: &str =
    "has no symbols, and does not tell atomic and floating-point instructions from others";
const NO_SIZES: &str = "has no symbols, no threads and no sizes, and does not tell atomic and floating-point instructions from others";

const MOVING: &[&str] = &["1 line that moves", "0x1000 false sharing"];
const STILL: &[&str] = &["0 lines that move"];

const CASES: [Case; 4] = [
    Case {
        name: "two.dir",
        notes: &[NO_SYMBOLS, "two.dir has no locks: time stamps alone order its threads"],
        threads: 2,
        instructions: 3000,
        moving: MOVING,
    },
    Case {
        name: "two.dir/trace/1.trace.zip",
        notes: &[NO_SYMBOLS],
        threads: 1,
        instructions: 1500,
        moving: STILL,
    },
    Case { name: "champsim", notes: &[NO_SIZES], threads: 1, instructions: 1500, moving: STILL },
    Case { name: "hand", notes: &[], threads: 2, instructions: 2000, moving: MOVING },
];

fn recordings(name: &str) -> TestDirectory {
    let place = TestDirectory::new(name);
    fs::create_dir_all(place.at("two.dir/trace")).unwrap();
    for number in 0..2 {
        let thread = thread(number);
        let (first, second) = thread.split_at(1200);
        place.file(&format!("two.dir/trace/{number}.trace.zip"), zip(&[first, second]));
    }
    place.file("champsim", champsim());
    place.file("hand", by_hand());
    place
}

#[test]
fn every_view_shows_recordings_of_others() {
    let place = recordings("formats");
    for case in &CASES {
        let name = case.name;
        let views = [
            format!("stat --json run.json --details --force {name}"),
            format!("top --interval 1000 {name}"),
            format!("c2c {name}"),
            format!("report -c 50 {name}"),
            format!("report -c 50 --unit r10000 {name}"),
        ];
        for view in &views {
            let ended = place.run(view);
            assert_eq!(ended.status, 0, "{view}: {}", ended.stderr);
            let all = format!("{}{}", ended.stdout, ended.stderr);
            let notes: Vec<_> = all.lines().filter(|line| line.starts_with("note: ")).collect();
            let unexpected: Vec<_> = notes
                .iter()
                .filter(|note| !case.notes.iter().any(|one| note.ends_with(one)))
                .collect();
            assert_eq!(notes.len() - unexpected.len(), case.notes.len(), "{view}: {notes:#?}");
            assert!(unexpected.is_empty(), "{view}: {unexpected:#?}");
        }
        let run = place.json("run.json");
        let threads = run["threads"].as_array().unwrap();
        let instructions = threads.iter().map(|one| one["instructions"].as_u64().unwrap());
        assert_eq!(
            (threads.len(), instructions.sum::<u64>()),
            (case.threads, case.instructions),
            "{name}"
        );

        let c2c = squeezed(&place.run(&views[2]).stdout);
        contains_all(&c2c, case.moving);

        // The recording has no functions, so the view shows pages instead.
        assert!(place.run(&views[3]).stdout.contains("page 0x401000"), "{name}");
        let annotated = place.run(&format!("annotate main {name}"));
        let needed = "error: annotate needs the program's functions: name its file with --symbols";
        let last = annotated.stderr.lines().last();
        assert_eq!((annotated.status, last), (2, Some(needed)), "{name}");

        let page = place.run("page run.json").assert_success();
        assert!(page.starts_with("<!DOCTYPE html>"), "{name}");
        let notes = case.notes.iter();
        assert!(notes.copied().all(|note| page.contains(note)), "{name}");
    }
}

#[test]
fn streams_are_read_as_files_are() {
    let place = recordings("formats-streams");
    for name in ["two.dir/trace/0.trace.zip", "champsim", "hand"] {
        let file = place.run(&format!("stat {name}")).stdout;
        let stream = with_input(&["stat", "-"], fs::read(place.at(name)).unwrap()).stdout;
        // A stream cannot be replayed a second time, so the figures that need this are missing at the end.
        let (stream, _) = stream.split_once("\nTruth: ").unwrap();
        assert!(file.starts_with(&stream.replace("standard input", name)), "{file}\n{stream}");
    }
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let place = recordings("formats-wrong");
    let whole = thread(0);
    place.file("cut", &whole[..whole.len() - 30]);
    place.file("two.dir/trace/1.trace.zip", zip(&[&whole[..whole.len() - 30]]));
    place.file("packed.xz", b"\xfd7zXZ\0\0\0");
    fs::create_dir(place.at("empty")).unwrap();
    for (name, says) in [
        ("cut", "cut: found 6 bytes after record "),
        ("two.dir", "two.dir/trace/1.trace.zip: found 6 bytes after record "),
        (
            "packed.xz",
            "packed.xz: found a file compressed with xz (\"xz -dk FILE\" decompresses it",
        ),
        ("empty", "empty: found a directory without files such as *.trace.zip"),
    ] {
        for view in ["stat", "report", "annotate main", "c2c", "top"] {
            place.run(&format!("{view} {name}")).assert_failure(says);
        }
    }
}
