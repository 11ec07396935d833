//! Tests that the machine has one clock, which never goes back.

use simulator::events::collect::Retention;
use simulator::events::layouts::LayoutName;
use simulator::replay::{Setup, Tracing};

use crate::{machine, program, run};

/// The guest can read its counters, and they are correct, whatever the sampling interval and the setting `hub_cycles` are.
#[test]
fn intervals_and_hub_times() {
    for interval in [1, 2, 10, 100, 500, 1_000, 2_000, 10_000] {
        for hub_cycles in [0, 1, 59, 60, 61, 100, 1_000] {
            let references = (5 * interval).clamp(50, 12_000);
            let setup = Setup::new(machine(), program(references))
                .interval(Some(interval))
                .hub_cycles(hub_cycles);
            let outcome = run(setup)
                .unwrap_or_else(|error| panic!("{interval}, {hub_cycles} cycles: {error}"));
            assert!(outcome.truth_matches, "{interval}, {hub_cycles} cycles");
            assert_eq!(outcome.references, references);
            let refused = outcome.hypercalls.by_status.get("EWOULDBLOCK");
            assert_eq!(refused.is_some(), hub_cycles > 60, "{hub_cycles} cycles");
        }
    }
}

#[test]
fn hypercalls_take_time() {
    let traced =
        |interval| {
            let setup = Setup::new(machine(), program(2_000)).interval(Some(interval)).tracing(
                Some(Tracing { layout: LayoutName::Clock64, keep: Retention::All, epoch: None }),
            );
            let outcome = run(setup).unwrap();
            let trace = outcome.trace.unwrap();
            for stream in &trace.streams {
                let times: Vec<_> = stream.events().map(|event| event.time).collect();
                assert!(times.is_sorted());
            }
            let events = trace.streams.iter().flat_map(|stream| stream.events());
            let last = events.map(|event| event.time).max().unwrap();
            (outcome.cycles, outcome.hypercalls.total, last)
        };
    for interval in [100, 2_000] {
        let (cycles, calls, last) = traced(interval);
        // Each call takes 60 cycles. The event of the last call is recorded before the call ends.
        assert!(
            (cycles + 60 * (calls - 1)..cycles + 60 * calls).contains(&last),
            "{cycles} cycles, {calls} calls, {last}"
        );
    }
}
