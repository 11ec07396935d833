//! Periods: randomised ones, those that follow a clock, and those that are too short.

use std::num::{NonZeroU32, NonZeroU64};

use guest_abi::Counter::Pic0;
use guest_abi::sampling::{CounterUnit, Pace, Period, Throttle};

use crate::fake::{Wrapping, at, period, periods, sampled, started};

fn ticks(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// Makes events one by one, for each of which the time advances by what `tick` returns. Returns the times of the samples and
/// their periods.
fn run(pace: Pace, events: u32, mut tick: impl FnMut(u32) -> u64) -> Vec<(u64, u64)> {
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    let (mut time, mut samples) = (0, Vec::new());
    for event in 0..events {
        time += tick(event);
        if unit.count(Pic0, 1) {
            profiler.handle(&mut unit, &at(time)).unwrap();
            samples.extend(
                periods(&mut profiler)
                    .into_iter()
                    .map(|period| (time, period)),
            );
        }
    }
    samples
}

/// Returns the periods of samples.
fn of(samples: &[(u64, u64)]) -> Vec<u64> {
    samples.iter().map(|(_, period)| *period).collect()
}

#[test]
fn a_fixed_period_is_fixed() {
    let samples = run(Pace::every(period(7)), 70, |_| 1);
    let expected: Vec<_> = (1..=10).map(|n| (7 * n, 7)).collect();
    assert_eq!(samples, expected);
}

/// 1000, give or take an eighth: all periods from 875 to 1125, and 1000 on average.
#[test]
fn random_periods_lie_around_the_period() {
    let pace = Pace::every(period(1000)).randomised(3, 1);
    let periods = of(&run(pace, 4_000_000, |_| 1));
    assert!(periods.len() > 3900);
    assert!(periods.iter().all(|period| (875..=1125).contains(period)));
    assert!(periods.iter().any(|period| *period < 880));
    assert!(periods.iter().any(|period| *period > 1120));
    // The standard deviation of the mean of 3990 periods is 72.3 / sqrt(3990) = 1.15.
    let mean = periods.iter().sum::<u64>() as f64 / periods.len() as f64;
    assert!((mean - 1000.0).abs() < 4.0, "{mean}");
    let other = run(Pace::every(period(1000)).randomised(3, 2), 100_000, |_| 1);
    assert_ne!(other[..50], run(pace, 100_000, |_| 1)[..50], "by the seed");
}

#[test]
fn short_periods_are_random_where_they_can_be() {
    let drawn = |events, shift| {
        let pace = Pace::every(period(events)).randomised(shift, 5);
        let mut periods = of(&run(pace, 1000, |_| 1));
        periods.sort_unstable();
        periods.dedup();
        periods
    };
    assert_eq!(drawn(1, 3), [1]);
    assert_eq!(drawn(2, 3), [1, 2, 3]);
    assert_eq!(drawn(5, 31), [4, 5, 6]);
    assert_eq!(drawn(5, 99), [4, 5, 6]);
    assert_eq!(drawn(5, 0), [3, 4, 5, 6, 7]);
}

#[test]
fn the_longest_period_is_never_exceeded() {
    let pace = Pace::every(Period::LONGEST).randomised(1, 9);
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    for time in 0..100 {
        let left = unit.past_overflow(Pic0).unsigned_abs();
        assert!(left <= 1 << 31);
        assert!(unit.count(Pic0, left));
        profiler.handle(&mut unit, &at(time)).unwrap();
    }
}

/// 3 events in 10 ticks and one sample in 1000 ticks make periods of 300, from a first period of 20 or of a million.
#[test]
fn the_period_follows_the_clock() {
    for first in [20, 1_000_000] {
        let mut rest = 0;
        let samples = run(
            Pace::interval(ticks(1000), period(first)),
            3_000_000,
            |_| {
                rest += 10;
                let whole = rest / 3;
                rest %= 3;
                whole
            },
        );
        let settled = &samples[40..];
        assert!(settled.len() > 500, "{}", settled.len());
        for (_, period) in settled {
            assert!((298..=302).contains(period), "{period}, from {first}");
        }
    }
}

/// Events come ten times as fast, and then slowly again.
#[test]
fn the_period_follows_the_rate() {
    let pace = Pace::interval(ticks(10_000), period(1000));
    let samples = run(pace, 3_000_000, |event| match event {
        0..1_000_000 => 10,
        1_000_000..2_000_000 => 1,
        _ => 10,
    });
    let in_time = |from: u64, to: u64| {
        samples
            .iter()
            .filter(|(time, _)| (from..to).contains(time))
            .count()
    };
    // 10, 1 and 10 million ticks. The period settles within some 20 samples.
    assert!((980..=1020).contains(&in_time(0, 10_000_000)));
    assert!((90..=200).contains(&in_time(10_000_000, 11_000_000)));
    assert!((970..=1020).contains(&in_time(11_000_000, 21_000_000)));
}

/// One odd interval changes the period by at most half.
#[test]
fn one_odd_interval_does_not_matter_much() {
    let pace = Pace::interval(ticks(1000), period(100));
    let samples = run(pace, 1000, |event| match event {
        250 => 1_000_000,
        350 => 0,
        _ => 10,
    });
    let periods = of(&samples);
    assert_eq!(periods[..5], [100, 100, 100, 50, 100]);
    assert!(
        periods[5..]
            .iter()
            .all(|period| (100..=101).contains(period))
    );
}

/// One event per tick; the interrupt of a period of 400 is taken after 1000. The rate is still one per tick.
#[test]
fn late_interrupts_do_not_mislead_it() {
    let pace = Pace::interval(ticks(1000), period(400));
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    unit.count(Pic0, 1000);
    profiler.handle(&mut unit, &at(1000)).unwrap();
    let report = profiler.events().next().unwrap();
    // Twice 400, on the way to 1000.
    assert_eq!(report.period, Some(period(800)));
}

#[test]
fn without_any_time_it_still_works() {
    let samples = run(Pace::interval(ticks(10), period(1)), 100_000, |_| 0);
    assert!(samples.len() > 10);
    let last = samples.last().unwrap().1;
    assert!(last > 10_000, "the period grows: {last}");
}

#[test]
fn frequencies_are_intervals() {
    let first = period(50);
    for (samples, clock, interval) in [
        (1000, 1_000_000_000, 1_000_000),
        (3, 1000, 333),
        (7, 1000, 143),
        (1000, 3, 1),
        (1, u64::MAX, u32::MAX),
    ] {
        let pace = Pace::frequency(ticks(samples), clock, first);
        assert_eq!(pace, Pace::interval(ticks(interval), first));
    }
}

fn bound(interrupts: u32, window: u64) -> Throttle {
    Throttle {
        interrupts: ticks(interrupts),
        ticks: NonZeroU64::new(window).unwrap(),
    }
}

/// Periods of 10 events, at one per tick, and at most 5 samples in 1000 ticks: periods of 320 keep to that.
#[test]
fn a_period_that_is_too_short_is_doubled() {
    let pace = Pace::every(period(10)).throttled(bound(5, 1000));
    let samples = run(pace, 100_000, |_| 1);
    let periods = of(&samples);
    // The sixth interrupt of a window is one too many.
    let mut expected = [10_u64, 20, 40, 80].map(|period| [period; 6]).concat();
    // At 160, a window of 1000 ticks has six or seven interrupts, which is too many again.
    expected.extend([160; 6]);
    assert_eq!(periods[..30], expected);
    assert!(
        periods[30..].iter().all(|period| *period == 320),
        "{periods:?}"
    );
    assert!(samples.len() < 400);
}

#[test]
fn a_throttled_period_recovers() {
    let pace = Pace::every(period(10)).throttled(bound(8, 1000));
    let samples = run(pace, 200_000, |event| if event < 50_000 { 1 } else { 100 });
    let slow: Vec<u64> = samples
        .iter()
        .filter(|(time, _)| *time < 50_000)
        .map(|(_, period)| *period)
        .collect();
    assert_eq!(*slow.last().unwrap(), 160);
    assert_eq!(samples.last().unwrap().1, 10);
    let mut profiler_periods = of(&samples);
    profiler_periods.dedup();
    assert_eq!(profiler_periods, [10, 20, 40, 80, 160, 80, 40, 20, 10]);
}

/// At most 8 interrupts are allowed in a window. 3 are more than a quarter of that, and the period stays; 2 are not, and it is
/// halved.
#[test]
fn it_recovers_at_a_quarter_of_the_bound() {
    for (in_window, expected) in [(3, 20), (2, 10)] {
        let pace = Pace::every(period(10)).throttled(bound(8, 1000));
        let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
        let mut interrupt = |time| {
            let left = unit.past_overflow(Pic0).unsigned_abs();
            assert!(unit.count(Pic0, left));
            profiler.handle(&mut unit, &at(time)).unwrap();
            profiler.events().next().unwrap().period
        };
        (0..8).for_each(|_| assert_eq!(interrupt(0), Some(period(10))));
        assert_eq!(interrupt(0), Some(period(20)));
        let times = (0..10).flat_map(|window| (0..in_window).map(move |n| 1000 * window + n));
        let last = times.map(&mut interrupt).last().unwrap();
        assert_eq!(last, Some(period(expected)), "{in_window}");
    }
}

#[test]
fn throttling_is_counted() {
    let pace = Pace::every(period(10)).throttled(bound(5, 1_000_000));
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    let mut interrupts = 0;
    for _ in 0..10 * 6 + 20 * 6 + 40 {
        if unit.count(Pic0, 1) {
            profiler.handle(&mut unit, &at(0)).unwrap();
            interrupts += 1;
        }
    }
    assert_eq!(interrupts, 13);
    let report = profiler.events().next().unwrap();
    assert_eq!((report.throttled, report.period), (2, Some(period(40))));
}

/// Under a flood of events at the same time, the period stops growing at the longest.
#[test]
fn throttling_ends_at_the_longest_period() {
    let pace = Pace::every(period(3)).throttled(bound(1, 1000));
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    let mut stood_for = 0;
    for _ in 0..200 {
        let left = unit.past_overflow(Pic0).unsigned_abs();
        assert!(unit.count(Pic0, left));
        profiler.handle(&mut unit, &at(0)).unwrap();
        stood_for += periods(&mut profiler)[0];
    }
    assert_eq!(Wrapping::OVERFLOWS_AT, 0);
    let report = profiler.events().next().unwrap();
    assert_eq!(report.period, Some(Period::LONGEST));
    // No time has passed.
    assert_eq!(report.estimate, None);
    assert!(stood_for > 100 << 31);
}
