//! What a guest observes does not depend on what another guest does.
//!
//! Two guests, A and B, on one machine; no references are replayed, so no event is counted. A *script* is what is the same
//! in all runs: the calls of A, what its strands do to their own registers, and the steps of the operator and of the
//! hardware: grants, cross-calls that strands take, resets, devices that break, stay busy or are mended, time. Between its
//! steps B does what it likes, different things in each run. Then A must have got the same statuses and values from all of
//! its calls.
//!
//! The exceptions of the contract, and how they are met:
//!
//! - **Units out of service.** Each run of B is compared with one in which B does nothing else than to take the same units
//!   out of service at the same places, by one access each. Everything else that B did must be without effect.
//! - **The operator's steps** are the script's. B starts again as it likes, but not while a change of rights is pending: that
//!   would wait for B's strands once more, so that when it happens is the operator's to decide.
//! - **EWOULDBLOCK** needs no exception here. Hubs and the L2 control of a node are for the holder of `global`, who is one
//!   guest: strands of the same guest get in each other's way, strands of different guests never do. That holds for calls
//!   in flight too: `while_calls_of_the_other_are_in_flight`.
//! - **PERF_CONFIG** changes what the other guests' L2 counters count, but no status and no value unless something counts.

mod in_flight;
mod run;
mod script;

use run::{Other, run};
use script::{Script, Step, is_valid, random_script};
use tests::oracle::Grant;
use tests::random::Random;

/// The guest that is looked at, and the one that must not matter.
const A: usize = 0;
const B: usize = 1;

/// B makes no difference in this script, whatever it does.
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
    tests::tell(format_args!("whatever_the_other_guest_does: {counts:?}"));
    assert!(counts.calls >= 100_000);
    assert!(counts.taken_out >= 500);
    for status in [0, 6, 7, 9, 10, 13] {
        assert!(counts.statuses[status] >= 500, "{status}: {counts:?}");
    }
}
