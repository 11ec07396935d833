//! Tests the time of day, which is separate from the clock that measures durations. windows_high_resolution_timer.txt says why: "Time of
//! day doesn't usually need to be high resolution, and timers for profiling don't need to be free of long term drift"; "splitting into
//! high resolution timestamp and time of day functions is better".

use guest_abi::clock::Clock;
use hv_core::time::{Correction, DayReading, TimeOfDay};
use proptest::prelude::*;

use crate::world::{Counter, MICROSECOND, MILLISECOND, SECOND, World, keeper, strand};

/// A moment in the year 2010, in nanoseconds since 1970.
const EPOCH: u64 = 1_290_000_000 * SECOND;

/// Returns a reading of a reference that is never late. The clock shows the same time before and after the reading.
fn exactly(clock: u64, day: u64) -> DayReading {
    DayReading { before: clock, day, after: clock, max_lag: 0 }
}

/// Asserts the time of day at several clock times. `times` holds clock times and the expected times of day, which are in nanoseconds since
/// `EPOCH`.
fn check_times(day: &mut TimeOfDay, times: &[(u64, u64)]) {
    for (clock, expected) in times {
        assert_eq!(day.at(*clock) - EPOCH, *expected, "at {clock}");
    }
}

#[test]
fn a_small_error_is_made_up_at_500_parts_per_million_and_no_further() {
    let mut day = TimeOfDay::new(exactly(100, EPOCH));
    assert_eq!(day.at(100 + SECOND), EPOCH + SECOND);
    // The time of day is 1 ms behind the reference. The correction takes 2 s.
    let behind = exactly(100 + SECOND, EPOCH + SECOND + MILLISECOND);
    assert_eq!(day.follow(behind), Correction::Faster(1_000_000));
    let times = [
        (100 + SECOND, 1_000_000_000),
        (100 + SECOND + 2000, 1_000_002_001),
        (100 + 2 * SECOND, 2_000_500_000),
        (100 + 3 * SECOND, 3_001_000_000),
        (100 + 4 * SECOND, 4_001_000_000),
    ];
    check_times(&mut day, &times);
    // The time of day is 2 ms ahead of the reference. The correction takes 4 s.
    let ahead = exactly(100 + 4 * SECOND, EPOCH + 3_999_000_000);
    assert_eq!(day.follow(ahead), Correction::Slower(2_000_000));
    let times = [(5, 5_000_500_000), (8, 7_999_000_000), (9, 8_999_000_000)];
    check_times(&mut day, &times.map(|(seconds, shown)| (100 + seconds * SECOND, shown)));
    let right = exactly(100 + 9 * SECOND, EPOCH + 8_999_000_000);
    assert_eq!(day.follow(right), Correction::Agrees);
    // 128 ms is the largest difference that is corrected gradually.
    let mut day = TimeOfDay::new(exactly(0, EPOCH));
    let (late, early) = (exactly(0, EPOCH + 128_000_000), exactly(0, EPOCH - 128_000_000));
    assert_eq!(day.follow(late), Correction::Faster(128_000_000));
    assert_eq!(day.follow(early), Correction::Slower(128_000_000));
}

/// windows_high_resolution_timer.txt says: "jumps in time (especially backwards) are unacceptable";
/// "the time can jump due to NTP correction".
#[test]
fn after_a_jump_of_the_reference_it_steps_forward_or_stands_still() {
    let mut day = TimeOfDay::new(exactly(0, EPOCH));
    let forward = exactly(SECOND, EPOCH + SECOND + 128_000_001);
    assert_eq!(day.follow(forward), Correction::Stepped(128_000_001));
    check_times(&mut day, &[(SECOND, 1_128_000_001), (2 * SECOND, 2_128_000_001)]);
    // The reference is set back by an hour.
    let back = exactly(2 * SECOND, EPOCH + 2_128_000_001 - 3600 * SECOND);
    assert_eq!(day.follow(back), Correction::Paused(3600 * SECOND));
    let times = [
        (3 * SECOND, 2_128_000_001),
        (3602 * SECOND, 2_128_000_001),
        (3602 * SECOND + 1, 2_128_000_002),
        (3603 * SECOND, 3_128_000_001),
    ];
    check_times(&mut day, &times);
}

#[test]
fn a_reading_within_the_bounds_corrects_nothing() {
    for (ahead, taken, max_lag, expected) in [
        (0, 0, 0, Correction::Agrees),
        (-1, 0, 0, Correction::Slower(1)),
        (-1, 0, 1, Correction::Agrees),
        (-1, 1, 0, Correction::Agrees),
        (-10_000_000, 300, 9_999_700, Correction::Agrees),
        (-10_000_001, 300, 9_999_700, Correction::Slower(1)),
        // A reference may be late but never early.
        (1, 300, 10_000_000, Correction::Faster(1)),
    ] {
        let mut day = TimeOfDay::new(exactly(0, EPOCH));
        let reading = DayReading {
            before: SECOND - taken,
            max_lag,
            ..exactly(SECOND, (EPOCH + SECOND).saturating_add_signed(ahead))
        };
        assert_eq!(day.follow(reading), expected);
    }
}

#[test]
fn a_stale_or_impossible_reading_is_ignored() {
    let mut day = TimeOfDay::new(exactly(SECOND, EPOCH));
    assert_eq!(day.follow(exactly(SECOND - 1, EPOCH + 7)), Correction::Ignored, "stale");
    let impossible = DayReading { before: 3 * SECOND, ..exactly(2 * SECOND, EPOCH) };
    assert_eq!(day.follow(impossible), Correction::Ignored);
    assert_eq!(day.at(2 * SECOND), EPOCH + SECOND);
    assert_eq!(day.at(0), EPOCH + SECOND, "on a strand whose clock is behind");
    // The largest 64-bit times cause no overflow.
    assert_eq!(day.follow(exactly(u64::MAX, u64::MAX)), Correction::Agrees);
    assert_eq!(day.at(u64::MAX), u64::MAX);
}

/// windows_high_resolution_timer.txt says that the system time is updated every 10 ms, "every 57th or so update comes later,
/// every 32nd comes earlier". The clock in this test is 80 parts per million fast. The time of day stays within the accuracy of
/// the system time and never goes back. The clock itself is not corrected.
#[test]
fn a_noisy_reference_is_followed_and_the_clock_is_not_disciplined() {
    let run = |follows: bool| {
        let world = World::default();
        let counter = Counter::costless(&world, 63, 1_165_379_275);
        counter.set_drift(80_000);
        let keeper = keeper([&counter]);
        let clock = keeper.clock(strand(0));
        let system_time = |now: u64| {
            let (update, within) = (now / (10 * MILLISECOND), now % (10 * MILLISECOND));
            // Each 57th update comes 3 ms late. Each 32nd update comes 2 ms early, which is 8 ms after the previous update
            // instead of 10 ms.
            let is_late = update.is_multiple_of(57) && within < 3 * MILLISECOND;
            let is_early = (update + 1).is_multiple_of(32) && within >= 8 * MILLISECOND;
            let shown = update - u64::from(is_late) + u64::from(!is_late && is_early);
            EPOCH + shown * 10 * MILLISECOND - 2 * MILLISECOND
        };
        let mut day = TimeOfDay::new(exactly(clock.ticks(), EPOCH));
        let mut corrections = 0;
        let (mut times, mut last) = (Vec::new(), 0);
        for second in 0..2000_u64 {
            world.pass(SECOND + second * 7919 % 5000 * MICROSECOND);
            let before = clock.ticks();
            let shown = system_time(world.now());
            world.pass(MICROSECOND);
            if follows {
                // The reference may be 15 ms behind: its step is 10 ms, its updates are up to 3 ms late, and `system_time` subtracts 2 ms
                // so that the reference is never ahead.
                let reading = DayReading {
                    before,
                    day: shown,
                    after: clock.ticks(),
                    max_lag: 15 * MILLISECOND,
                };
                match day.follow(reading) {
                    Correction::Agrees => {}
                    Correction::Slower(_) => corrections += 1,
                    followed => panic!("{followed:?}"),
                }
                let now = day.at(clock.ticks());
                assert!(now >= last);
                assert!(now.abs_diff(EPOCH + world.now()) < 16 * MILLISECOND);
                last = now;
            }
            times.push(clock.ticks());
        }
        (corrections, times)
    };
    let (corrections, followed) = run(true);
    let (_, alone) = run(false);
    assert_eq!(followed, alone);
    // In 2000 s, 80 parts per million add up to 160 ms, so corrections are needed.
    assert!((10..1900).contains(&corrections), "{corrections}");
}

proptest! {
    #[test]
    fn it_never_goes_back(
        acts in prop::collection::vec((0..4_u32, any::<u64>(), any::<u64>(), 0..64_u32, 0..64_u32), 1..200),
    ) {
        let mut day = TimeOfDay::new(exactly(0, EPOCH));
        let (mut clock, mut last) = (0_u64, 0_u64);
        for (act, first, second, bits, more) in acts {
            let (first, second) = (first >> bits, second >> more);
            match act {
                0 => clock = clock.saturating_add(first),
                1 => {
                    let shown = last.saturating_add_signed((second as i64) >> bits);
                    let reading = DayReading { max_lag: first, ..exactly(clock, shown) };
                    day.follow(reading);
                }
                // A reading that another strand took earlier, and that is used only now.
                2 => { day.follow(exactly(clock.saturating_sub(first), second)); }
                _ => {
                    let now = day.at(clock.saturating_sub(first));
                    prop_assert!(now >= last, "{} after {}", now, last);
                    last = now;
                }
            }
        }
    }

    /// Between steps, the time of day runs at the clock's rate, give or take 500 parts per million.
    #[test]
    fn its_rate_is_near_that_of_the_clock(
        errors in prop::collection::vec((-128_000_000_i64..=128_000_000, 0..10 * SECOND), 1..50),
    ) {
        let mut day = TimeOfDay::new(exactly(0, EPOCH));
        let mut clock = 0_u64;
        for (error, pause) in errors {
            let begun = day.at(clock);
            day.follow(exactly(clock, begun.saturating_add_signed(error)));
            clock += pause;
            let passed = day.at(clock) - begun;
            let expected = (pause / 2000).min(error.unsigned_abs());
            prop_assert_eq!(passed as i64 - pause as i64, expected as i64 * error.signum());
        }
    }
}
