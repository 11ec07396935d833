//! Measured frequencies. windows_high_resolution_timer.txt: "read it every second from a thread (bonus: accurate frequency
//! measurement)".

use guest_abi::clock::{ClockSource, Description};
use hv_core::time::{Finding, Frequency, FrequencyMeter, Limits, Measured, Reading, Watchdog, pc};
use proptest::prelude::*;

use crate::world::{Counter, MICROSECOND, MILLISECOND, SECOND, World, keeper, strand};

const fn reading(before: u64, count: u64, after: u64) -> Reading {
    Reading {
        before,
        count,
        after,
    }
}

/// Returns the bounds that a counter of 1000 Hz shows by one of 1 MHz.
fn kilohertz(readings: &[Reading]) -> Option<(u64, u64)> {
    let megahertz = Description {
        hz: 1_000_000,
        ..pc::rtc(0)
    };
    let mut meter = FrequencyMeter::new(&pc::tick_counter(1), &megahertz);
    readings.iter().for_each(|reading| meter.add(*reading));
    meter.frequency().map(|of| (of.least, of.most))
}

#[test]
fn the_bounds_include_every_uncertainty() {
    let start = reading(0, 0, 0);
    for (readings, expected) in [
        (&[][..], None),
        (&[start], None),
        // The reference has advanced by its own step: it may have been nothing.
        (&[start, reading(1, 5, 1)], None),
        // 9,999 to 10,001 ticks in 9,999,999 to 10,000,001 us.
        (
            &[start, reading(10_000_000, 10_000, 10_000_000)],
            Some((999_899, 1_000_101)),
        ),
        // The two reads of the reference are 2 s apart: 9,999 to 10,001 ticks in 8,999,999 to 11,000,001 us.
        (
            &[start, reading(9_000_000, 10_000, 11_000_000)],
            Some((908_999, 1_111_223)),
        ),
        (
            &[
                reading(0, 0, 500_000),
                reading(9_500_000, 10_000, 10_000_000),
            ],
            Some((999_899, 1_111_223)),
        ),
        // It stands still, for 10 s: less than a tick.
        (&[start, reading(10_000_000, 0, 10_000_000)], Some((0, 101))),
        // What is between the first and the last reading does not matter.
        (
            &[
                start,
                reading(3, 9_000, 4_000_000),
                reading(10_000_000, 10_000, 10_000_000),
            ],
            Some((999_899, 1_000_101)),
        ),
        // Back, of either: it starts over.
        (
            &[
                reading(0, 7_000, 0),
                reading(1_000_000, 0, 1_000_000),
                reading(11_000_000, 10_000, 11_000_000),
            ],
            Some((999_899, 1_000_101)),
        ),
        (
            &[
                reading(5_000_000, 0, 5_000_000),
                reading(1_000_000, 1_000, 1_000_000),
                reading(11_000_000, 11_000, 11_000_000),
            ],
            Some((999_899, 1_000_101)),
        ),
        (
            &[start, reading(u64::MAX - 2, u64::MAX, u64::MAX - 1)],
            Some((999_999_999, 1_000_000_001)),
        ),
    ] {
        assert_eq!(kilohertz(readings), expected, "{readings:?}");
    }
}

#[test]
fn a_frequency_is_readable() {
    let of = |least, most| Frequency { least, most }.to_string();
    assert_eq!(
        of(1_165_379_273_500, 1_165_379_276_500),
        "1165379275.000 ±1.500 Hz"
    );
    assert_eq!(of(0, 101), "0.050 ±0.051 Hz");
}

/// Returns what the watchdog of three counters measures after each of `checks`, one a second.
fn measured(world: &World, counters: &[Counter<'_>; 3], checks: u32) -> Vec<Measured> {
    let keeper = keeper(counters.each_ref());
    let mut watchdog = Watchdog::new(Limits::default());
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
    assert_eq!(watchdog.frequency(), None);
    (0..checks)
        .map(|_| {
            world.pass(SECOND);
            assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
            watchdog.frequency().unwrap()
        })
        .collect()
}

fn counters(world: &World) -> [Counter<'_>; 3] {
    [(1_165_379_275, 3), (SECOND, 2), (31_250_000, 1)]
        .map(|(hz, rating)| Counter::new(world, 63, hz, rating))
}

#[test]
fn the_watchdog_measures_again_and_again() {
    let world = World::default();
    let counters = counters(&world);
    // 100 parts per million of 1,165,379,275 Hz are 116,537.9275 Hz.
    counters[0].set_drift(100_000);
    let all = measured(&world, &counters, 200);
    for (
        check,
        Measured {
            source,
            reference,
            frequency,
        },
    ) in all.iter().enumerate()
    {
        assert_eq!((*source, *reference), (0, 1));
        let bounds = frequency.least..=frequency.most;
        assert!(bounds.contains(&1_165_495_812_927), "{check}: {frequency}");
    }
    // A reading takes 40 ns: after a second that is 47 Hz, after a minute less than 1 Hz.
    let uncertainty = |check: usize| all[check - 1].frequency.uncertainty();
    assert!(
        (47_000..60_000).contains(&uncertainty(1)),
        "{}",
        uncertainty(1)
    );
    for check in 60..=200 {
        assert!(uncertainty(check) < 1000, "{check}: {}", uncertainty(check));
    }
}

#[test]
fn the_measure_follows_a_change_of_the_rate() {
    let world = World::default();
    let counters = counters(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = Watchdog::new(Limits::default());
    for _ in 0..1000 {
        watchdog.check(&keeper, strand(0));
        world.pass(SECOND);
    }
    counters[0].set_drift(-200_000);
    for _ in 0..122 {
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
        world.pass(SECOND);
    }
    let frequency = watchdog.frequency().unwrap().frequency;
    // 1,165,379,275 Hz less 200 parts per million.
    assert!(
        (frequency.least..=frequency.most).contains(&1_165_146_199_145),
        "{frequency}"
    );
}

#[test]
fn a_change_of_source_begins_a_new_measure() {
    let world = World::default();
    let counters = counters(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = Watchdog::new(Limits::default());
    for _ in 0..2 {
        watchdog.check(&keeper, strand(0));
        world.pass(SECOND);
    }
    assert!(watchdog.frequency().is_some());
    counters[0].set_stopped(true);
    world.pass(SECOND);
    let found = watchdog.check(&keeper, strand(0));
    assert!(matches!(found, Finding::Demoted { .. }));
    assert_eq!(watchdog.frequency(), None);
    for _ in 0..2 {
        watchdog.check(&keeper, strand(0));
        world.pass(SECOND);
    }
    let Measured {
        source,
        reference,
        frequency,
    } = watchdog.frequency().unwrap();
    assert_eq!((source, reference), (1, 2));
    assert!((frequency.least..=frequency.most).contains(&1_000_000_000_000));
}

proptest! {
    #[test]
    fn the_true_frequency_is_within_the_bounds(
        (hz, bits) in (1_u64..=4_000_000_000, 0..32_u32),
        reference_hz in 1_000_000..=4_000_000_000_u64,
        drift in -400_000..400_000_i64,
        steps in (1..1000_u64, 1..1000_u64),
        costs in (0..20 * MICROSECOND, 0..20 * MICROSECOND),
        pauses in prop::collection::vec(MILLISECOND..20 * SECOND, 2..50),
    ) {
        let hz = (hz >> bits).max(1);
        let world = World::default();
        let clock = Counter::new(&world, 64, hz, 1);
        let reference = Counter::new(&world, 64, reference_hz, 1);
        for (counter, step, cost) in [(&clock, steps.0, costs.0), (&reference, steps.1, costs.1)] {
            counter.describe_as(|of| of.step = step.min(of.hz));
            counter.cost.set(cost);
        }
        clock.set_drift(drift);
        let mut meter = FrequencyMeter::new(&clock.description.get(), &reference.description.get());
        for pause in pauses {
            let read = |counter: &Counter<'_>| counter.read(strand(0)).unwrap();
            meter.add(reading(read(&reference), read(&clock), read(&reference)));
            world.pass(pause);
            if let Some(Frequency { least, most }) = meter.frequency() {
                // In parts of 10^-9 mHz.
                let exact = u128::from(hz) * 1000 * (1_000_000_000 + drift) as u128;
                let [least, most] = [least, most].map(|of| u128::from(of) * 1_000_000_000);
                prop_assert!((least..=most).contains(&exact), "{least} {exact} {most}");
            }
        }
    }
}
