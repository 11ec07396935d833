//! Tests short programs on an R10000. Their cycle counts are computed by hand.

use simulator::analysis::profile::SampledUnit;

use crate::{every, fetches, profile};

/// Returns the number of cycles that a program spends in user mode, and asserts that both counters count it. Each program also spends 15
/// cycles in exception mode: the handler executes its 7 instructions twice, and it takes 1 cycle to detect the handler's own TLB miss.
fn cycles(program: &str) -> u64 {
    let report = profile(SampledUnit::R10000, program, "0,16", every(1000)).unwrap();
    for event in report.events() {
        assert_eq!((event.count, event.exact_count), (report.cycles - 15, event.count));
    }
    report.cycles - 15
}

/// The cost of a TLB miss: one cycle to detect it, and one to enter the handler.
const REFILL: u64 = 2;

/// The cycles that a miss in both caches takes.
const MISS: u64 = 70;

/// The cycles that an instruction spends in the pipeline: one each to decode, issue and graduate.
const PIPELINE: u64 = 3;

/// The cycles of a single instruction that misses the TLB and both caches.
const FIRST: u64 = REFILL + MISS + PIPELINE;

#[test]
fn four_instructions_graduate_in_a_cycle() {
    let line = |instructions: u64| cycles(&fetches((0..instructions).map(|n| 0x1000 + 4 * n)));
    assert_eq!(line(1), FIRST);
    assert_eq!(line(4), FIRST);
    assert_eq!(line(5), FIRST + 1);
    assert_eq!(line(8), FIRST + 1);
    assert_eq!(line(13), FIRST + 3);
}

/// While the first load waits for its data, 31 later instructions enter the active list and issue. When the data arrive, the instructions
/// graduate, four per cycle. The remaining loads issue one per cycle, because only one instruction per cycle can use memory.
#[test]
fn one_instruction_of_a_cycle_uses_memory() {
    let first = "I  1000,4\n L 2000,4\n";
    let load = "I  1004,4\n L 2004,4\n";
    let other = "I  1008,4\n";
    assert_eq!(cycles(first), FIRST + MISS);
    let after = |text: String| cycles(&format!("{first}{text}")) - (FIRST + MISS);
    assert_eq!(after(load.repeat(3)), 0);
    assert_eq!(after(load.repeat(31)), 7);
    assert_eq!(after(other.repeat(400)), 100);
    assert_eq!(after(format!("{load}{other}{other}{other}").repeat(100)), 100);
    // Four loads graduate and free their entries in the active list. One cycle later, the first of the remaining 369 loads issues.
    assert_eq!(after(load.repeat(400)), 1 + 369);
    // While the first load waits, the active list holds 16 of the 200 later loads.
    assert_eq!(after(format!("{load}{other}").repeat(200)), 1 + 184);
}

#[test]
fn a_miss_that_the_secondary_cache_serves_takes_10_cycles() {
    // One L2 line of 128 bytes holds two instruction lines of 64 bytes.
    assert_eq!(cycles("I  1000,4\nI  1040,4\n"), FIRST + 10);
    // The loads use three 32-byte data lines. Their misses are served one after another.
    let loads = "I  1000,4\n L 2000,4\nI  1004,4\n L 2020,4\nI  1008,4\n L 2040,4\n";
    assert_eq!(cycles(loads), FIRST + MISS + 2 * 10);
}

/// A cycle sample names the instruction that the processor is waiting for.
#[test]
fn a_sample_names_the_oldest_instruction() {
    let text: String = (0..50)
        .map(|n| format!("I  1000,4\nI  4004,4\n L {:x},4\nI  1008,4\n", 0x2000 + n * 128))
        .collect();
    let first = profile(SampledUnit::R10000, &text, "cycles", every(10)).unwrap().first;
    let load = &first.rows[0];
    assert_eq!(load.name, "page 0x4000");
    assert!(load.percent > 90.0 && load.exact_percent > 90.0, "{load:?}");
    assert!((load.percent - load.exact_percent).abs() < 3.0, "{load:?}");
}
