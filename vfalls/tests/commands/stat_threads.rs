//! Tests the placement of threads and the thread table in `stat`.

use std::fmt::Write;
use std::fs;

use serde_json::{Value, json};

use crate::program::{TestDirectory, contains_all, squeezed};
use crate::stat::{json, measured, program};

/// The references of two threads. MOESI and memory interleaving determine which requests the references cause. Every 512 bytes of memory
/// are on the next node.
const SHARING: &str = "\
# strand, what it does, address, bytes
0  w 0x0 8      # misses, and reads the line from the memory of node 0: local
64 r 0x0 8      # the cache of node 0 has it modified: cache to cache
64 r 0x8        # in the same line of 16 bytes: no request to the L2 cache
64 r 0x10       # in the same line of 64 bytes, but another of 16: a hit in the L2 cache
0  w 0x0        # a hit, which invalidates the copies of node 1
64 r 0x0        # cache to cache
64 r 0x200      # local to node 1
64 r 0x400      # the memory of node 2: remote
";

fn served(results: &Value) -> Vec<Value> {
    let threads = results["threads"].as_array().unwrap();
    (threads.iter())
        .map(|thread| json!([thread["thread"], thread["strand"], thread["served"]]))
        .collect()
}

fn requests(l2: u64, local: u64, remote: u64, c2c: u64) -> Value {
    json!({ "l2": l2, "local": local, "remote": remote, "c2c": c2c })
}

#[test]
fn threads_are_served_where_theory_says() {
    let place = TestDirectory::new("stat-served");
    place.file("sharing", SHARING);
    let results = json(&place, "sharing");
    assert_eq!(results["placement"], "as the recording says");
    assert_eq!(
        served(&results),
        [json!([0, 0, requests(1, 1, 0, 0)]), json!([1, 64, requests(1, 1, 1, 2)])]
    );
    // Two strands of one core share a data cache, in which a store does not allocate a line.
    let results = json(&place, "sharing --place pack");
    assert_eq!(results["placement"], "pack");
    assert_eq!(
        served(&results),
        [json!([0, 0, requests(1, 1, 0, 0)]), json!([1, 1, requests(2, 0, 2, 0)])]
    );
    // The option lists strands. The two recordings do not share memory.
    let results = json(&place, "sharing sharing --place 7,64-66");
    assert_eq!(results["placement"], "7,64-66");
    let strands: Vec<_> = served(&results).iter().map(|thread| thread[1].clone()).collect();
    assert_eq!(strands, [7, 64, 65, 66]);
}

#[test]
fn a_summary_is_a_screen() {
    let place = TestDirectory::new("stat-screen");
    place.file("sharing", SHARING);
    let output = place.run("stat sharing").assert_success();
    let parts = [
        "batoka with 4 nodes, 256 strands; guest measuring (global+htstrand)",
        "placement: as the recording says, 2 threads on strands 0,64",
        // Three lines are read. Both threads use the first line, and only the second thread loads the other two.
        "dram:mem_reads               3",
        // The program has no instructions, so the table shows neither CPI nor MPKI.
        "-     -        1      1       1    2",
        "Truth: all 60 counters show exactly what happened (8 references in",
    ];
    contains_all(&output, &parts);
    assert!(!output.contains("Hypercalls"), "{output}");
    let calls = place.run("stat sharing --calls").assert_success();
    assert!(calls.contains("Hypercalls by guest and status:"), "{calls}");

    // Each of the 40 threads executes one instruction more than its number.
    let mut text = String::new();
    for strand in 0..40 {
        for number in 0..=strand {
            let _ = writeln!(text, "{strand} i {:x}", 0x1000 * strand + 4 * number);
        }
    }
    place.file("forty", text);
    let output = place.run("stat forty").assert_success();
    // The event table and the thread table fill a screen. The same threads' states follow.
    let lines: Vec<&str> = output.lines().collect();
    let truth = lines.iter().position(|line| line.starts_with("Truth: "));
    assert_eq!(truth, Some(23), "{output}");
    for state in ["thread 39 ", "thread 33 ", "33 more ", "all threads "] {
        assert!(lines[24..].iter().any(|line| line.starts_with(state)), "{state}: {output}");
    }
    assert!(lines.iter().all(|line| line.len() <= 100), "{output}");
    assert!(output.contains("placement: as the recording says, 40 threads on strands 0-39"));
    // The threads with the most instructions come first. One row adds up the others, which have 1 to 33 instructions.
    let row = |start: &str| {
        let found = lines.iter().map(|line| squeezed(line)).find(|row| row.starts_with(start));
        found.unwrap_or_else(|| panic!("{start}:\n{output}"))
    };
    for start in ["39 39 40 ", "33 33 34 ", "33 more 561 "] {
        row(start);
    }

    // All threads, or as many as the option names, have rows in both tables.
    let rows = |option: &str| {
        let output = place.run(&format!("stat forty {option}")).assert_success();
        let rows: Vec<_> = output.lines().map(squeezed).collect();
        let count = |row: &dyn Fn(usize) -> String| {
            (0..40).filter(|&thread| rows.iter().any(|one| one.starts_with(&row(thread)))).count()
        };
        let more = rows.iter().filter(|row| row.contains(" more ")).count();
        let states = count(&|thread| format!("thread {thread} "));
        [count(&|thread| format!("{thread} {thread} {} ", thread + 1)), states, more]
    };
    assert_eq!(rows("--threads all"), [40, 40, 0]);
    assert_eq!(rows("--threads 40"), [40, 40, 0]);
    assert_eq!(rows("--threads 39"), [39, 39, 2]);
    assert_eq!(rows("--threads 0"), [0, 0, 2]);
    place.run("stat forty --threads some").assert_failure("expected a number of threads, or all");
}

/// `deal` splits one thread's references among several strands, so the strands do not have threads of their own.
#[test]
fn dealing_is_called_artificial() {
    let place = TestDirectory::new("stat-deal");
    place.file("refs.txt", program(3_000));
    let arguments = "refs.txt -e pic:Instr_cnt --place deal:1,65,2";
    let results = json(&place, arguments);
    assert_eq!(results["placement"], "artificial, deal:1,65,2");
    // A quantum ends with the instruction that makes reference 1024. Four out of every nine references are fetches. A quantum therefore has
    // 114 * 9 references, of which 114 * 4 = 456 are fetches. The first strand also executes the fourth quantum, which has the other 132 of
    // the 1500 fetches.
    assert_eq!(measured(&results), [588, 456, 456]);
    let output = place.run(&format!("stat {arguments}")).assert_success();
    assert!(output.contains("placement: artificial, deal:1,65,2\n"), "{output}");
    place
        .run("stat refs.txt refs.txt --place deal:0-7")
        .assert_failure("deal deals the references of one thread, found 2 threads");
}

#[test]
fn what_a_recording_lacks_is_said() {
    let place = TestDirectory::new("stat-cut");
    let recording =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/inputs/corpus/recording_input/native-cut");
    fs::copy(recording, place.path().join("cut.refs")).unwrap();
    let notes = [
        "cut.refs is cut off: it is read up to byte 227 of 238",
        "cut.refs lacks signals that its threads wait for (waits skipped: 1)",
    ];
    let ended = place.run("stat cut.refs --json results.json");
    assert_eq!(ended.status, 0);
    assert_eq!(ended.stderr, notes.map(|note| format!("note: {note}\n")).concat());
    assert_eq!(place.json("results.json")["notes"], json!(notes));
}
