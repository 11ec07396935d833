//! Random periods, periods that follow a clock, and periods that are too short.

use std::num::{NonZeroU32, NonZeroU64};

use guest_abi::Counter::Pic0;
use guest_abi::sampling::{CounterUnit, Pace, Period, Profiler, Throttle};

use crate::fake::{Wrapping, at, period, periods, sampled, started};

fn ticks(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// Generates events one by one. `tick` returns the time of each event. Returns the time and period of each sample.
fn run(pace: Pace, events: u32, mut tick: impl FnMut(u32) -> u64) -> Vec<(u64, u64)> {
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    let (mut time, mut samples) = (0, Vec::new());
    for event in 0..events {
        time += tick(event);
        if unit.count(Pic0, 1) {
            profiler.handle(&mut unit, &at(time)).unwrap();
            let periods = periods(&mut profiler).into_iter();
            samples.extend(periods.map(|period| (time, period)));
        }
    }
    samples
}

fn periods_of(samples: &[(u64, u64)]) -> Vec<u64> {
    samples.iter().map(|(_, period)| *period).collect()
}

/// Makes counter 0 overflow, and handles the overflow at `time`.
fn overflow(profiler: &mut Profiler<Wrapping, 1, 1000>, unit: &mut Wrapping, time: u64) {
    let left = unit.past_overflow(Pic0).unsigned_abs();
    assert!(unit.count(Pic0, left));
    profiler.handle(unit, &at(time)).unwrap();
}

#[test]
fn a_fixed_period_is_fixed() {
    let samples = run(Pace::every(period(7)), 70, |_| 1);
    let expected: Vec<_> = (1..=10).map(|n| (7 * n, 7)).collect();
    assert_eq!(samples, expected);
}

/// The period 1000 varies at random by up to an eighth: each period is 875 to 1125, and the mean is 1000.
#[test]
fn random_periods_lie_around_the_period() {
    let pace = Pace::every(period(1000)).randomised(3, 1);
    let periods = periods_of(&run(pace, 4_000_000, |_| 1));
    assert!(periods.len() > 3900);
    assert!(periods.iter().all(|period| (875..=1125).contains(period)));
    assert!(periods.iter().any(|period| *period < 880));
    assert!(periods.iter().any(|period| *period > 1120));
    // The mean of 3990 periods has a standard deviation of 72.3 / sqrt(3990) = 1.15.
    let mean = periods.iter().sum::<u64>() as f64 / periods.len() as f64;
    assert!((mean - 1000.0).abs() < 4.0, "{mean}");
    let other = run(Pace::every(period(1000)).randomised(3, 2), 100_000, |_| 1);
    assert_ne!(other[..50], run(pace, 100_000, |_| 1)[..50], "the seed decides");
}

#[test]
fn short_periods_are_random_where_they_can_be() {
    let drawn = |events, shift| {
        let pace = Pace::every(period(events)).randomised(shift, 5);
        let mut periods = periods_of(&run(pace, 1000, |_| 1));
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
    let pace = Pace::every(Period::MAX).randomised(1, 9);
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    for time in 0..100 {
        assert!(unit.past_overflow(Pic0).unsigned_abs() <= 1 << 31);
        overflow(&mut profiler, &mut unit, time);
    }
}

/// At 3 events in 10 ticks, one sample in 1000 ticks needs a period of 300. The first period is 20 or a million.
#[test]
fn the_period_follows_the_clock() {
    for first in [20, 1_000_000] {
        let mut rest = 0;
        let pace = Pace::interval(ticks(1000), period(first));
        let samples = run(pace, 3_000_000, |_| {
            let sum = rest + 10;
            rest = sum % 3;
            sum / 3
        });
        let settled = &samples[40..];
        assert!(settled.len() > 500, "{}", settled.len());
        for (_, period) in settled {
            assert!((298..=302).contains(period), "{period}, from {first}");
        }
    }
}

/// Events become ten times as frequent, and then slow down again.
#[test]
fn the_period_follows_the_rate() {
    let pace = Pace::interval(ticks(10_000), period(1000));
    let samples = run(pace, 3_000_000, |event| match event {
        0..1_000_000 => 10,
        1_000_000..2_000_000 => 1,
        _ => 10,
    });
    // The three phases last 10, 1 and 10 million ticks. The period settles within about 20 samples.
    for (from, to, expected) in [(0, 10, 980..=1020), (10, 11, 90..=200), (11, 21, 970..=1020)] {
        let times = from * 1_000_000..to * 1_000_000;
        let number = samples.iter().filter(|(time, _)| times.contains(time)).count();
        assert!(expected.contains(&number), "{number} in {times:?}");
    }
}

/// One interval of unusual length changes the period by at most half.
#[test]
fn one_odd_interval_does_not_matter_much() {
    let pace = Pace::interval(ticks(1000), period(100));
    let periods = periods_of(&run(pace, 1000, |event| match event {
        250 => 1_000_000,
        350 => 0,
        _ => 10,
    }));
    assert_eq!(periods[..5], [100, 100, 100, 50, 100]);
    assert!(periods[5..].iter().all(|period| (100..=101).contains(period)));
}

/// At one event per tick, the interrupt for a period of 400 events comes after 1000 ticks. The measured rate is still one event
/// per tick.
#[test]
fn late_interrupts_do_not_change_the_rate() {
    let pace = Pace::interval(ticks(1000), period(400));
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    unit.count(Pic0, 1000);
    profiler.handle(&mut unit, &at(1000)).unwrap();
    let report = profiler.events().next().unwrap();
    // The period doubles from 400 toward 1000.
    assert_eq!(report.period, Some(period(800)));
}

#[test]
fn the_period_grows_while_the_clock_stands_still() {
    let samples = run(Pace::interval(ticks(10), period(1)), 100_000, |_| 0);
    assert!(samples.len() > 10);
    assert!(samples.last().unwrap().1 > 10_000, "{samples:?}");
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
    Throttle { interrupts: ticks(interrupts), ticks: NonZeroU64::new(window).unwrap() }
}

/// At one event per tick, periods of 10 events give more than 5 samples in 1000 ticks. Periods of 320 events do not.
#[test]
fn a_period_that_is_too_short_is_doubled() {
    let pace = Pace::every(period(10)).throttled(bound(5, 1000));
    let samples = run(pace, 100_000, |_| 1);
    let periods = periods_of(&samples);
    // The bound is 5 interrupts in a window, so the sixth interrupt doubles the period.
    let mut expected = [10_u64, 20, 40, 80].map(|period| [period; 6]).concat();
    // At period 160, a window of 1000 ticks has six or seven interrupts, which still exceeds the bound.
    expected.extend([160; 6]);
    assert_eq!(periods[..30], expected);
    assert!(periods[30..].iter().all(|period| *period == 320), "{periods:?}");
    assert!(samples.len() < 400);
}

#[test]
fn a_throttled_period_recovers() {
    let pace = Pace::every(period(10)).throttled(bound(8, 1000));
    let samples = run(pace, 200_000, |event| if event < 50_000 { 1 } else { 100 });
    assert_eq!(samples.iter().rfind(|(time, _)| *time < 50_000).unwrap().1, 160);
    assert_eq!(samples.last().unwrap().1, 10);
    let mut periods = periods_of(&samples);
    periods.dedup();
    assert_eq!(periods, [10, 20, 40, 80, 160, 80, 40, 20, 10]);
}

/// The bound is 8 interrupts in a window. With 3 interrupts, more than a quarter of the bound, the period stays. With 2 interrupts,
/// the period is halved.
#[test]
fn a_period_recovers_at_a_quarter_of_the_bound() {
    for (in_window, expected) in [(3, 20), (2, 10)] {
        let pace = Pace::every(period(10)).throttled(bound(8, 1000));
        let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
        let mut interrupt = |time| {
            overflow(&mut profiler, &mut unit, time);
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
    for _ in 0..10 * 6 + 20 * 6 + 40 {
        if unit.count(Pic0, 1) {
            profiler.handle(&mut unit, &at(0)).unwrap();
        }
    }
    assert_eq!(profiler.interrupts(), 13);
    let report = profiler.events().next().unwrap();
    assert_eq!((report.throttled, report.period), (2, Some(period(40))));
}

/// If all interrupts come at the same time, the period grows up to the longest possible period.
#[test]
fn throttling_ends_at_the_longest_period() {
    let pace = Pace::every(period(3)).throttled(bound(1, 1000));
    let (mut profiler, mut unit) = started::<0, 1>(&[sampled(0, pace)]);
    let mut stood_for = 0;
    for _ in 0..200 {
        overflow(&mut profiler, &mut unit, 0);
        stood_for += periods(&mut profiler)[0];
    }
    assert_eq!(Wrapping::OVERFLOWS_AT, 0);
    let report = profiler.events().next().unwrap();
    assert_eq!(report.period, Some(Period::MAX));
    // No time has passed, so there is no estimate.
    assert_eq!(report.estimate, None);
    assert!(stood_for > 100 << 31);
}
