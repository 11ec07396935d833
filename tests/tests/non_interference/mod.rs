//! Tests that one guest's results do not depend on what another guest does.
//!
//! Guests A and B are on one machine, where no counter runs. A *script*, which is the same in all runs, contains A's calls, the writes of
//! A's strands to their own registers, and the steps of the operator and of the hardware. Between these steps, B makes random calls, which
//! differ from run to run. All calls of A must get the same statuses and values. Exceptions to consider:
//!
//! - **Units out of service.** The run with B's random calls is compared with a second run, in which B takes the same units out of service
//!   before the same steps, with one access to each unit, and makes no other calls.
//! - **The operator's steps** are in the script. B does not reset itself while a transfer is pending, because the transfer would
//!   wait for B's strands once more.
//! - **EWOULDBLOCK** needs no exception: only one guest's strands, those of the holder of `global`, can use hubs and L2 control.
//! - **PERF_CONFIG** changes what other guests' L2 counters count. Here, no counter runs.

mod in_flight;
mod run;
mod script;

use run::{Other, run};
use script::{Script, Step, is_valid, random_script};
use tests::oracle::Grant;
use tests::random::Random;

/// The guest whose results are compared. Guest B must not change these results.
const A: usize = 0;
const B: usize = 1;

/// Asserts that B's calls do not change this script's results.
fn check(script: &Script, seed: u64, counts: &mut Counts) {
    for variant in 0..2 {
        let with = run(script, Other::Random(Random(seed << 8 | variant)));
        let without = run(script, Other::TakesOut(&with.taken_out));
        let calls = script.steps.iter().filter_map(|step| match step {
            Step::Call(strand, trap, registers) => Some((strand, trap, registers)),
            _ => None,
        });
        let both = with.observations.iter().zip(&without.observations);
        for (number, ((with, without), call)) in both.zip(calls).enumerate() {
            assert_eq!(with, without, "seed {seed:#x}, call {number}: {call:x?}");
            if !with.1 {
                counts.statuses[with.0[0] as usize] += 1;
            }
        }
        assert_eq!(with.observations.len(), without.observations.len());
        assert_eq!(with.end, without.end, "seed {seed:#x}");
        counts.calls += with.observations.len();
        counts.taken_out += with.taken_out.len();
    }
}

#[derive(Debug, Default)]
struct Counts {
    calls: usize,
    statuses: [usize; 14],
    taken_out: usize,
}

#[test]
fn whatever_the_other_guest_does() {
    const SCRIPTS: u64 = 16;
    let pairs = Grant::ALL.map(|a| Grant::ALL.map(|b| [a, b]));
    let mut counts = Counts::default();
    for (number, grants) in pairs.into_iter().flatten().enumerate() {
        if !is_valid(grants) {
            continue;
        }
        for script in 0..SCRIPTS {
            let seed = (number as u64) << 16 | script;
            let script = random_script(&mut Random(seed), grants, 240);
            check(&script, seed, &mut counts);
        }
    }
    tests::print_line(format_args!("whatever_the_other_guest_does: {counts:?}"));
    assert!(counts.calls >= 100_000);
    assert!(counts.taken_out >= 500);
    for status in [0, 6, 7, 9, 10, 13] {
        assert!(counts.statuses[status] >= 500, "{status}: {counts:?}");
    }
}
