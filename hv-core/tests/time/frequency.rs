//! Tests how counters' frequencies are measured. windows_high_resolution_timer.txt says of a counter: "read it every second from a thread
//! (bonus: accurate frequency measurement)".

use guest_abi::clock::{ClockSource, Description};
use hv_core::time::{Finding, Frequency, FrequencyMeter, Measured, Reading, pc};
use proptest::prelude::*;

use crate::watchdog::Watched;
use crate::world::{Counter, MICROSECOND, MILLISECOND, SECOND, World, strand};

const fn reading((before, count, after): (u64, u64, u64)) -> Reading {
    Reading { before, count, after }
}

/// Returns the bounds for the frequency of a 1000 Hz counter, measured against a 1 MHz counter.
fn kilohertz(readings: &[(u64, u64, u64)]) -> Option<(u64, u64)> {
    let megahertz = Description { hz: 1_000_000, ..pc::rtc(0) };
    let mut meter = FrequencyMeter::new(&pc::tick_counter(1), &megahertz);
    readings.iter().for_each(|counts| meter.add(reading(*counts)));
    meter.frequency().map(|bounds| (bounds.min, bounds.max))
}

#[test]
fn the_bounds_include_every_uncertainty() {
    const M: u64 = 1_000_000;
    let start = (0, 0, 0);
    let exact = Some((999_899, 1_000_101));
    for (readings, expected) in [
        (&[][..], None),
        (&[start], None),
        // The reference has advanced by only one step, so perhaps almost no time has passed.
        (&[start, (1, 5, 1)], None),
        // The counter advances by 9,999 to 10,001 ticks in 9,999,999 to 10,000,001 us.
        (&[start, (10 * M, 10_000, 10 * M)], exact),
        // In the second reading, the reference is read before and after the counter, 2 s apart: 9,999 to 10,001 ticks in 8,999,999 to
        // 11,000,001 us.
        (&[start, (9 * M, 10_000, 11 * M)], Some((908_999, 1_111_223))),
        (&[(0, 0, M / 2), (19 * M / 2, 10_000, 10 * M)], Some((999_899, 1_111_223))),
        // The counter does not advance for 10 s, so less than a tick has passed.
        (&[start, (10 * M, 0, 10 * M)], Some((0, 101))),
        // Readings between the first and the last do not matter.
        (&[start, (3, 9_000, 4 * M), (10 * M, 10_000, 10 * M)], exact),
        // If the counter or the reference goes back, the meter starts again.
        (&[(0, 7_000, 0), (M, 0, M), (11 * M, 10_000, 11 * M)], exact),
        (&[(5 * M, 0, 5 * M), (M, 1_000, M), (11 * M, 11_000, 11 * M)], exact),
        (&[start, (u64::MAX - 2, u64::MAX, u64::MAX - 1)], Some((999_999_999, 1_000_000_001))),
    ] {
        assert_eq!(kilohertz(readings), expected, "{readings:?}");
    }
}

#[test]
fn a_frequency_is_readable() {
    let strand = Frequency { min: 1_165_379_273_500, max: 1_165_379_276_500 };
    assert_eq!(strand.to_string(), "1165379275.000 ±1.500 Hz");
    assert_eq!(Frequency { min: 0, max: 101 }.to_string(), "0.050 ±0.051 Hz");
}

/// Returns a watchdog over counters that run at 1,165,379,275 Hz, 1 GHz and 31.25 MHz.
fn watched() -> Watched<3> {
    Watched::new(|_, [_, second, third]| {
        second.describe_as(|description| description.hz = SECOND);
        third.describe_as(|description| description.hz = 31_250_000);
    })
}

fn is_within(millihertz: u64, bounds: Frequency) -> bool {
    (bounds.min..=bounds.max).contains(&millihertz)
}

#[test]
fn the_watchdog_measures_again_and_again() {
    let watched = watched();
    // 100 parts per million of 1,165,379,275 Hz is 116,537.9275 Hz.
    watched.counters[0].set_drift(100_000);
    assert_eq!(watched.check(0), Finding::Begun);
    assert_eq!(watched.watchdog.borrow().frequency(), None);
    for check in 1..=200 {
        assert_eq!(watched.check_after(SECOND), Finding::Agrees);
        let measured = watched.watchdog.borrow().frequency();
        let Measured { source, reference, frequency } = measured.unwrap();
        assert_eq!((source, reference), (0, 1));
        assert!(is_within(1_165_495_812_927, frequency), "{check}: {frequency}");
        // A reading takes 60 ns, so the error is 70 Hz after a second, and less than 2 Hz after a minute.
        let expected = match check {
            1 => 70_000..80_000,
            2..60 => 0..u64::MAX,
            _ => 0..2000,
        };
        let uncertainty = frequency.uncertainty();
        assert!(expected.contains(&uncertainty), "{check}: {uncertainty}");
    }
}

#[test]
fn the_measure_follows_a_change_of_the_rate() {
    let watched = watched();
    for _ in 0..1000 {
        watched.check_after(SECOND);
    }
    watched.counters[0].set_drift(-200_000);
    for _ in 0..122 {
        assert_eq!(watched.check_after(SECOND), Finding::Agrees);
    }
    let frequency = watched.watchdog.borrow().frequency().unwrap().frequency;
    // The expected value is 1,165,379,275 Hz less 200 parts per million.
    assert!(is_within(1_165_146_199_145, frequency), "{frequency}");
}

#[test]
fn a_change_of_source_begins_a_new_measure() {
    let watched = watched();
    let check_twice = || {
        watched.check(0);
        watched.check_after(SECOND);
        watched.watchdog.borrow().frequency()
    };
    assert!(check_twice().is_some());
    watched.counters[0].set_stopped(true);
    assert!(matches!(watched.check_after(SECOND), Finding::Demoted { .. }));
    assert_eq!(watched.watchdog.borrow().frequency(), None);
    let measured = check_twice().unwrap();
    assert_eq!((measured.source, measured.reference), (1, 2));
    assert!(is_within(1_000_000_000_000, measured.frequency));
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
            counter.describe_as(|description| description.step = step.min(description.hz));
            counter.cost.set(cost);
        }
        clock.set_drift(drift);
        let mut meter = FrequencyMeter::new(&clock.description.get(), &reference.description.get());
        for pause in pauses {
            let read = |counter: &Counter<'_>| counter.read(strand(0)).unwrap();
            meter.add(reading((read(&reference), read(&clock), read(&reference))));
            world.pass(pause);
            if let Some(Frequency { min, max }) = meter.frequency() {
                // `exact` is in units of 10^-9 mHz.
                let exact = u128::from(hz) * 1000 * (1_000_000_000 + drift) as u128;
                let [min, max] = [min, max].map(|bound| u128::from(bound) * 1_000_000_000);
                prop_assert!((min..=max).contains(&exact), "{min} {exact} {max}");
            }
        }
    }
}
