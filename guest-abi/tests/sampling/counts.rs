//! 64-bit counts from 31-bit and 32-bit counters.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::sampling::{Estimate, Profiler};

use crate::fake::{BOTH, Wrapping, at, counted, every, started};

type Two = Profiler<Wrapping, 1, 1000>;

/// Counts more than 5 * 2^31 events with a counter that overflows at `AT`.
fn extended<const AT: u32>() {
    let (mut profiler, mut unit) = started::<AT, 1>(&[counted(3), every(4, 1 << 30)]);
    let mut handled = 0;
    for time in 1..=11 {
        for counter in BOTH {
            unit.count(counter, 1_000_000_000);
        }
        if !unit.pending.is_empty() {
            profiler.handle(&mut unit, &at(time)).unwrap();
            handled += 1;
        }
    }
    // The sampling counter overflows in every step except the first.
    assert_eq!(handled, 10);
    profiler.stop(&mut unit, &at(12));
    let reports = profiler.events().map(|report| (report.estimate, report.samples));
    let events = 11_000_000_000;
    let all = Estimate { counted: events, running: 12, enabled: 12, events, error: Some(0) };
    // The first event has no pace, so the profiler counts it but takes no samples.
    assert!(reports.eq([(Some(all), 0), (Some(all), 10)]));
}

#[test]
fn counts_have_64_bits() {
    extended::<0>();
    extended::<0x8000_0000>();
}

#[test]
fn counts_are_as_of_the_last_interrupt() {
    let (mut profiler, mut unit) = started::<0, 1>(&[counted(3), every(4, 100)]);
    unit.count(Pic0, 5);
    let counted = |profiler: &Two| {
        let estimates = profiler.events().map(|report| report.estimate);
        estimates.map(|of_one| Some(of_one?.counted)).collect::<Vec<_>>()
    };
    assert_eq!(counted(&profiler), [None, None]);
    unit.count(Pic1, 101);
    profiler.handle(&mut unit, &at(10)).unwrap();
    assert_eq!(counted(&profiler), [Some(5), Some(101)]);
    unit.count(Pic0, 1);
    profiler.stop(&mut unit, &at(20));
    assert_eq!(counted(&profiler), [Some(6), Some(101)]);
}
