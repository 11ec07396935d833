//! Tests replays of handwritten programs whose counts theory predicts.

use std::fmt::Write;

use simulator::replay::{Selection, Setup};
use simulator::run::Replayed;

use crate::{machine, recording, run};

/// The first strand of each of the four nodes.
const STRANDS: [usize; 4] = [0, 64, 128, 192];

/// Replays a text on four nodes. The text's lines have the form `STRAND OP ADDRESS`.
fn outcome(text: String, events: &str) -> Replayed {
    let selection = Selection::parse(events).unwrap();
    run(Setup::new(machine(), recording(text)).selection(selection)).unwrap()
}

fn total(outcome: &Replayed, event: &str) -> u64 {
    let counters = outcome.counters.iter();
    let counters = counters.filter(|counter| counter.event == event);
    counters.map(|counter| counter.measured).sum()
}

const ROUNDS: u64 = 100;

/// Four strands take turns; each adds to its own counter. The counters are `apart` bytes apart.
fn counters(apart: usize) -> Replayed {
    let mut text = String::new();
    for _ in 0..ROUNDS {
        for (at, strand) in STRANDS.iter().enumerate() {
            let address = 0x1_0000 + apart * at;
            let _ = write!(text, "{strand} r {address:#x}\n{strand} w {address:#x}\n");
        }
    }
    outcome(text, "lpu:cycles_cache_hit,lpu:cycles_INV_egress")
}

/// Every addition except the first finds the line in the previous node's cache, and invalidates it there.
#[test]
fn counters_in_one_line() {
    let outcome = counters(8);
    assert_eq!(total(&outcome, "cycles_cache_hit"), 4 * ROUNDS - 1);
    // Each invalidation goes to the three other nodes.
    assert_eq!(total(&outcome, "cycles_INV_egress"), 3 * (4 * ROUNDS - 1));
    let transfers = outcome.threads.iter().map(|thread| thread.served.c2c);
    assert_eq!(transfers.collect::<Vec<_>>(), [ROUNDS - 1, ROUNDS, ROUNDS, ROUNDS]);
}

/// If each counter has a line to itself, each strand reads its line from memory once, and no line is invalidated.
#[test]
fn counters_in_lines_of_their_own() {
    let outcome = counters(64);
    assert_eq!(total(&outcome, "cycles_cache_hit"), 0);
    assert_eq!(total(&outcome, "cycles_INV_egress"), 0);
    // The home of all four lines is node 0.
    let served = outcome.threads.iter().map(|thread| {
        let served = &thread.served;
        (served.local, served.remote, served.c2c)
    });
    assert_eq!(served.collect::<Vec<_>>(), [(1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0)]);
}

/// Strands of all nodes read a buffer on node 0 twice. Each node reads each line from memory only once.
#[test]
fn a_buffer_on_one_node() {
    const PIECES: u64 = 40;
    let mut text = String::new();
    for round in 0..2 {
        for piece in 0..PIECES {
            for line in 0..8 {
                // The home node changes every 512 bytes of memory. The second round reads the other half of each L2 line, which is a
                // different L1 line.
                let address = 0x10_0000 + piece * 2048 + line * 64 + round * 32;
                for strand in STRANDS {
                    let _ = writeln!(text, "{strand} r {address:x}");
                }
            }
        }
    }
    let outcome = outcome(text, "dram:mem_reads");
    let lines = 8 * PIECES;
    let served = outcome.threads.iter().map(|thread| {
        let served = &thread.served;
        (served.l2, served.local, served.remote, served.c2c)
    });
    assert_eq!(
        served.collect::<Vec<_>>(),
        [(lines, lines, 0, 0), (lines, 0, lines, 0), (lines, 0, lines, 0), (lines, 0, lines, 0)]
    );
    let reads = outcome.counters.iter().map(|counter| counter.measured);
    // Each of the two channels of node 0 reads half of the buffer.
    assert_eq!(reads.collect::<Vec<_>>(), [2 * lines, 2 * lines, 0, 0, 0, 0, 0, 0]);
}

/// A strand writes 5 MB, and then reads it twice. The L2 cache holds only 4 MB, and never the line that is read next. Every line is written
/// back once.
#[test]
fn a_stream_larger_than_the_l2_cache() {
    const LINES: u64 = (5 << 20) / 64;
    let mut text = String::new();
    for op in ["w", "r", "r"] {
        for line in 0..LINES {
            let _ = writeln!(text, "0 {op} {:x}", line * 64);
        }
    }
    let outcome = outcome(text, "dram:mem_reads,dram:mem_writes");
    assert_eq!(total(&outcome, "mem_reads"), 3 * LINES);
    assert_eq!(total(&outcome, "mem_writes"), LINES);
}
