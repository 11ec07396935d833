//! Checks that the properties hold for each input in the corpus, and that the inputs together reach every case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use inputs::hypercalls::Coverage;
use inputs::md_reader::Read;
use inputs::recording_input::{Form, Recording};
use inputs::{gdb_packets, hypercalls, md_reader, md_round_trip, recording_input};
use platform::{Machine, Model};

/// Prints the name of the current input if a property does not hold.
struct PrintNameOnPanic<'a>(&'a str);

impl Drop for PrintNameOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("at the input {}", self.0);
        }
    }
}

/// Checks a fuzz target's inputs. Returns what each input has reached, by the input's name.
fn replay<T>(target: &str, check: impl Fn(&[u8]) -> T) -> BTreeMap<String, T> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut reached = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let _named = PrintNameOnPanic(&name);
        reached.insert(name.clone(), check(&bytes));
    }
    reached
}

#[test]
fn gdb_packets() {
    let reached = replay("gdb_packets", gdb_packets::check);
    assert!(reached["session"].known >= 20, "{reached:?}");
    assert!(reached["wrong"].wrong >= 15, "{reached:?}");
    // One machine gets the input as it is, and another one gets it as the content of a packet. Both see the same packets, because a
    // `$` starts a new packet anywhere. So each machine accounts for half of these refusals and kills.
    assert_eq!((reached["raw"].refused, reached["raw"].killed), (4, 2), "{reached:?}");
    for number in 0..4000 {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/gdb_packets");
        let name = ["session", "watches", "steps", "wrong", "raw"][number as usize % 5];
        let input = fs::read(Path::new(directory).join(name)).unwrap();
        let changed = format!("{name}, change {number}");
        let _named = PrintNameOnPanic(&changed);
        gdb_packets::check(&gdb_packets::changed(&input, number));
    }
}

#[test]
fn hypercalls() {
    let reached = replay("hypercalls", hypercalls::check);
    let sum = |count: fn(&Coverage) -> u32| reached.values().map(count).sum::<u32>();
    for (status, least) in [(0, 500), (6, 5), (7, 20), (9, 10), (10, 100), (13, 50)] {
        let calls = reached.values().map(|one| one.statuses[status]);
        assert!(calls.sum::<u32>() >= least, "status {status}");
    }
    assert!(sum(|one| one.pending) >= 50);
    assert!(sum(|one| one.changes) >= 20);
    assert!(sum(|one| one.broken) >= 10);
}

#[test]
fn md_reader() {
    let reached = replay("md_reader", md_reader::check);
    let batoka = Machine::new(Model::Batoka, 4).unwrap();
    assert_eq!(reached["batoka-4"], Read::Description(Some(batoka), 3));
    assert_eq!(reached["guest"], Read::Description(None, 0));
    for one in [Read::Nothing, Read::Contradiction] {
        let inputs = reached.values().filter(|read| **read == one).count();
        assert!(inputs >= 10, "{one:?}: {inputs} inputs");
    }
}

#[test]
fn md_round_trip() {
    use inputs::md_round_trip::Read;
    let reached = replay("md_round_trip", md_round_trip::check);
    assert!(matches!(reached["maramba-1"], Read::Description(6..)));
    assert!(matches!(reached["maramba-1.toml"], Read::Source(6..)));
    let nothing = reached.values().filter(|read| **read == Read::Nothing);
    assert!(nothing.count() >= 10);
}

#[test]
fn recording_input() {
    let reached = replay("recording_input", recording_input::check);
    for form in [
        Form::Plain,
        Form::Gzip,
        Form::Zstd,
        Form::Zip,
        Form::ByHand,
        Form::Native,
        Form::Drmemtrace,
        Form::ChampSim,
    ] {
        let count = |found: fn(&Recording) -> Option<Form>| {
            let inputs = reached.values().filter(|one| found(one) == Some(form));
            inputs.count()
        };
        let whole = count(|one| match one {
            Recording::Whole(form, 1..) => Some(*form),
            _ => None,
        });
        let wrong = count(|one| match one {
            Recording::Wrong(form) => Some(*form),
            _ => None,
        });
        assert!(whole >= 2 && wrong >= 2, "{form:?}: {whole} whole, {wrong} wrong");
    }
}
