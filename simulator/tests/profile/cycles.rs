//! How the R10000 spends its time.

use simulator::profile::Unit;

use crate::{every, fetches, profile};

/// The cycles of a program, as both counters and the processor tell them.
fn cycles(program: &str) -> u64 {
    let report = profile(Unit::R10000, program, "0,16", every(1000)).unwrap();
    for event in report.events() {
        assert_eq!(
            (event.count, event.exact_count),
            (report.cycles, report.cycles)
        );
    }
    report.cycles
}

/// A miss of both caches takes 70 cycles.
const MISS: u64 = 70;

#[test]
fn four_instructions_graduate_in_a_cycle() {
    let line = |instructions: u64| cycles(&fetches((0..instructions).map(|n| 0x1000 + 4 * n)));
    // The first one waits for the line, and ends its cycle.
    assert_eq!(line(1), MISS + 1);
    assert_eq!(line(2), MISS + 2);
    assert_eq!(line(5), MISS + 2);
    assert_eq!(line(6), MISS + 3);
    assert_eq!(line(13), MISS + 4);
}

#[test]
fn one_instruction_of_a_cycle_uses_memory() {
    let first = "I  1000,4\n L 2000,4\n";
    let load = "I  1004,4\n L 2004,4\n";
    let other = "I  1008,4\n";
    let after = |text: String| cycles(&format!("{first}{text}")) - (2 * MISS + 1);
    assert_eq!(after(load.repeat(3)), 3);
    assert_eq!(after(other.repeat(3)), 1);
    assert_eq!(after(format!("{load}{other}").repeat(3)), 3);
    assert_eq!(after(format!("{other}{other}{other}{load}")), 1);
    assert_eq!(after(format!("{load}{other}{other}{other}{load}")), 2);
}

#[test]
fn a_miss_that_the_secondary_cache_serves_takes_10_cycles() {
    // Two lines of 64 bytes in one of 128.
    assert_eq!(cycles("I  1000,4\nI  1040,4\n"), MISS + 1 + 10 + 1);
    // Four lines of 32 bytes of data.
    let loads = "I  1000,4\n L 2000,4\nI  1004,4\n L 2020,4\nI  1008,4\n L 2040,4\n";
    assert_eq!(cycles(loads), 2 * MISS + 1 + 2 * (10 + 1));
}
