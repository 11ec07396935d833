//! Tests the conversion of ticks to nanoseconds.

use hv_core::time::Scale;
use proptest::prelude::*;

const YEAR: u128 = 31_557_600;
const SECOND: u128 = 1_000_000_000;

fn check(hz: u64, ticks: u64) {
    let found = u128::from(Scale::new(hz).unwrap().nanoseconds(ticks));
    let exact = u128::from(ticks) * SECOND / u128::from(hz);
    let low = exact.min(u128::from(u64::MAX));
    let high = low + if exact < 1 << 63 { 1 } else { 2 };
    assert!((low..=high).contains(&found), "{ticks} at {hz}: {found}, not {exact}");
}

#[test]
fn frequencies_from_1_hz_to_10_ghz() {
    assert_eq!([0, 10_000_000_001, u64::MAX].map(Scale::new), [None; 3]);
    for hz in [1, 2, 1000, 32_768, 1_000_000, 9_999_999_999, 10_000_000_000] {
        assert!(Scale::new(hz).is_some(), "{hz}");
    }
}

#[test]
fn known_values() {
    for (hz, ticks, nanoseconds) in [
        (1_000_000, 1, 1_000),
        (1_000_000_000, 0x7fff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff),
        (1_000_000_000, u64::MAX, u64::MAX),
        (10_000_000_000, 10, 1),
        (10_000_000_000, 9_223_372_036_854_775_800, 922_337_203_685_477_580),
        (31_250_000, 1, 32),
        (3_579_545, 1 << 24, 4_686_968_874),
        // A tick counter, a real-time clock, and the slowest possible source.
        (1000, 15, 15_000_000),
        (32_768, 1, 30_517),
        (32_768, 32_768, 1_000_000_000),
        (3, 1, 333_333_333),
        (1, 18_000_000_000, 18_000_000_000_000_000_000),
        (1, 18_446_744_074, u64::MAX),
        (1_165_379_275, 1_165_379_275, 1_000_000_000),
        // Durations beyond 584 years saturate.
        (1_000_000, u64::MAX, u64::MAX),
        (1_000_000, 1 << 63, u64::MAX),
        (500_000_000, 1 << 63, u64::MAX),
    ] {
        assert_eq!(Scale::new(hz).unwrap().nanoseconds(ticks), nanoseconds, "{ticks} at {hz}");
    }
}

fn near_power(bit: u32) -> [u64; 3] {
    [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]
}

/// Returns the lowest and highest frequencies, frequencies around powers of 2, and frequencies of real machines.
fn frequencies() -> Vec<u64> {
    let mut list: Vec<_> = (0..34).flat_map(near_power).collect();
    list.retain(|hz| (1..=10_000_000_000).contains(hz));
    list.extend([1_165_379_275, 1_411_764_705, 3_579_545, 14_318_180, 31_250_000]);
    list.extend([1000, 1_000_000, 1_000_001, 1_000_000_000, 9_999_999_999, 10_000_000_000]);
    list
}

#[test]
fn powers_of_two_and_whole_seconds() {
    for hz in frequencies() {
        for ticks in (0..64).flat_map(near_power).chain([u64::MAX]) {
            check(hz, ticks);
        }
        // Converts 1 to 100 seconds, minutes, days and years. Any number of whole seconds whose ticks fit in 64 bits is converted exactly.
        for unit in [1, 60, 86_400, YEAR] {
            for seconds in (1..=100).map(|n| n * unit).chain([100 * YEAR]) {
                let Ok(ticks) = u64::try_from(seconds * u128::from(hz)) else {
                    continue;
                };
                let found = Scale::new(hz).unwrap().nanoseconds(ticks);
                assert_eq!(u128::from(found), seconds * SECOND, "{seconds} s at {hz}");
            }
        }
    }
}

/// Generates frequencies of every order of magnitude.
fn hertz() -> impl Strategy<Value = u64> {
    (1..=10_000_000_000_u64, 0..34_u32).prop_map(|(hz, bits)| (hz >> bits).max(1))
}

proptest! {
    #[test]
    fn is_exact_to_a_nanosecond(hz in hertz(), ticks: u64, bits in 0..64_u32) {
        check(hz, ticks >> bits);
    }

    #[test]
    fn more_ticks_are_not_less_time(hz in hertz(), ticks: u64, more in 0..1000_u64) {
        let scale = Scale::new(hz).unwrap();
        prop_assert!(scale.nanoseconds(ticks.saturating_add(more)) >= scale.nanoseconds(ticks));
    }
}
