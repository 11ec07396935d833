//! Tests the replay of waits whose times depend on the recording host: sleeps, blocking system calls, and waits for locks that the recorder
//! does not know.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{on_both, record, replay};
use crate::program::{TestDirectory, command, start, wait};
use crate::stat;

/// The number of whole cycles in 3 ms. The machine executes 1,165,379,275 cycles per second.
const SLEEP: u64 = 3_496_137;

/// The program prints how often its threads have waited for its own lock. The replay counts the same number.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn waits_for_a_lock_that_is_not_known_are_counted() {
    on_both("theory-unknown", "host", "-O1", |place, compiler| {
        let waits: u64 = record(place, "./host lock").stdout.trim().parse().unwrap();
        assert!(waits > 1, "{compiler:?}");
        let results = stat::json(place, "recording");
        assert_eq!(results["waits"]["as_recorded"], waits, "{compiler:?}");
        let sentence =
            format!("\n{waits} waits are as recorded: the lock is not known (in syscall).\n");
        place.run("stat recording").assert_success_with(&[&sentence]);
    });
}

/// The simulated machine sleeps for exactly the time that the program asks for.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_sleep_takes_the_time_that_it_asks_for() {
    on_both("theory-sleep", "host", "-O1", |place, _| {
        let results = replay(place, "./host sleep", "");
        let [thread] = &results["threads"].as_array().unwrap()[..] else { panic!("{results}") };
        let mut states: BTreeMap<String, u64> =
            serde_json::from_value(thread["states"].clone()).unwrap();
        states.retain(|_, cycles| *cycles > 0);
        let running = results["cycles"].as_u64().unwrap() - SLEEP;
        let expected = [("running", running), ("sleep", SLEEP)];
        assert_eq!(states, expected.map(|(state, cycles)| (state.to_owned(), cycles)).into());
    });
}

/// Records a program that prints a line and then reads a byte, which arrives after `delay`. Returns the JSON of the replay.
fn read_after(place: &TestDirectory, delay: Duration) -> Value {
    let mut program = command(&["record", "--force", "-o", "recording", "--", "./host", "read"]);
    program.current_dir(place.path());
    let mut child = start(program);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    thread::sleep(delay);
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    let ended = wait(child);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    stat::json(place, "recording")
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_call_that_blocks_takes_no_time() {
    on_both("theory-read", "host", "-O1", |place, compiler| {
        let [at_once, late] = [0, 300].map(|delay| read_after(place, Duration::from_millis(delay)));
        for results in [&at_once, &late] {
            assert_eq!(results["waits"]["calls"], json!({ "read": 1 }), "{compiler:?}");
        }
        assert_eq!(late["threads"], at_once["threads"], "{compiler:?}");
        let said = "\nSystem calls that may block take no time: 1 read.\n";
        place.run("stat recording").assert_success_with(&[said]);
    });
}
