//! Checks that events take turns when there are more events than counters.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::sampling::{CounterSet, CounterUnit, Estimate};

use crate::fake::{BOTH, FakeEvent, Wrapping, at, counted, every, periods, started};

type Three = guest_abi::sampling::Profiler<Wrapping, 3, 1000>;

fn estimates(profiler: &Three) -> Vec<(u8, Option<Estimate>)> {
    let reports = profiler.events();
    reports.map(|report| (report.event.0, report.estimate)).collect()
}

fn estimate(counted: u64, running: u64, enabled: u64, events: u64, error: Option<u64>) -> Estimate {
    Estimate { counted, running, enabled, events, error }
}

#[test]
fn events_take_turns() {
    let requests = [counted(10), counted(11), counted(12), counted(20)];
    let (mut profiler, mut unit) = started::<0, 3>(&requests);
    let mut seen = Vec::new();
    for time in 1..=4 {
        seen.push(BOTH.map(|counter| unit.event(counter).map(|event| event.0)));
        let counting = CounterSet::new(true, unit.event(Pic1).is_some());
        assert_eq!(unit.program.unwrap().interrupts, counting);
        profiler.rotate(&mut unit, &at(time)).unwrap();
    }
    let expected = [[Some(10), Some(20)], [Some(11), None], [Some(12), None], [Some(10), Some(20)]];
    assert_eq!(seen, expected);
}

#[test]
fn one_turn_is_always_on() {
    let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(20)]);
    for time in 1..=5 {
        unit.count(Pic0, 10);
        profiler.rotate(&mut unit, &at(time)).unwrap();
    }
    assert_eq!(estimates(&profiler)[0], (10, Some(estimate(50, 5, 5, 50, Some(0)))));
}

/// Two events share counter 0 in four turns of 100 ticks. In its two turns, event 10 happens 30 and 50 times.
/// Event 11 happens 7 times in each of its turns.
///
/// Event 10 happens 80 times in 200 of 400 ticks, so the estimate is 160. From 30 and 50, s = sqrt(200) = 14.142. With n = 2 of N = 4
/// turns, the error is s * sqrt(N * (N - n) / n) = 14.142 * 2 = 28.28, rounded up to 29.
#[test]
fn counts_are_scaled_and_have_an_error() {
    let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(11)]);
    for (turn, events) in [(1, 30), (2, 7), (3, 50), (4, 7)] {
        unit.count(Pic0, events);
        profiler.rotate(&mut unit, &at(100 * turn)).unwrap();
    }
    let [(10, Some(event10)), (11, Some(event11))] = estimates(&profiler)[..] else {
        panic!("{:?}", estimates(&profiler));
    };
    assert_eq!(event10, estimate(80, 200, 400, 160, Some(29)));
    assert_eq!(event10.to_string(), "160 +- 29");
    // Event 11 happens 7 times in each turn. But 7 / 100 is not a binary fraction, so its rate is rounded to 32 bits.
    let error = Some(event11.error.unwrap().min(1));
    assert_eq!(event11, estimate(14, 200, 400, 28, error));
}

/// With turns of 100, 200 and 300 ticks, the estimate is scaled by time, not by the number of turns.
#[test]
fn turns_may_be_of_different_length() {
    let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(11)]);
    let mut time = 0;
    let turns = [100, 100, 200, 100, 300, 700].into_iter();
    for (ticks, events) in turns.zip([10, 0, 20, 0, 30, 0]) {
        time += ticks;
        unit.count(Pic0, events);
        profiler.rotate(&mut unit, &at(time)).unwrap();
    }
    let estimate = estimates(&profiler)[0].1.unwrap();
    assert_eq!((estimate.running, estimate.enabled), (600, 1500));
    assert_eq!(estimate.events, 150);
    assert!(estimate.error.unwrap() <= 1, "a steady rate");
}

/// An event that happens 11 times in 20 of 30 ticks has the estimate 16.5, which is rounded to 17.
#[test]
fn no_estimate_without_a_turn_and_no_error_with_one() {
    let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(11), counted(12)]);
    unit.count(Pic0, 5);
    profiler.rotate(&mut unit, &at(10)).unwrap();
    unit.count(Pic0, 11);
    profiler.rotate(&mut unit, &at(30)).unwrap();
    let once = |counted, running, events| estimate(counted, running, 30, events, None);
    let expected = [(10, Some(once(5, 10, 15))), (11, Some(once(11, 20, 17))), (12, None)];
    assert_eq!(estimates(&profiler), expected);
    assert_eq!(once(5, 10, 15).to_string(), "15 +- ?");
}

/// If a sampling period has not ended at the end of its event's turn, it continues in the event's next turn.
#[test]
fn samples_go_on_in_the_next_turn() {
    let (mut profiler, mut unit) = started::<0, 3>(&[every(10, 100), every(11, 50)]);
    unit.count(Pic0, 70);
    profiler.rotate(&mut unit, &at(1)).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -50)]);
    unit.count(Pic0, 10);
    profiler.rotate(&mut unit, &at(2)).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -30)]);
    assert!(unit.count(Pic0, 30));
    profiler.handle(&mut unit, &at(3)).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -100)]);
    profiler.rotate(&mut unit, &at(4)).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -40)]);
    let sample = profiler.pop().unwrap();
    assert_eq!((sample.event, sample.period), (FakeEvent(10), 100));
    assert_eq!(profiler.pop(), None);
}

/// The timer ends a turn and finds that a counter has overflowed. The sample belongs to the event
/// whose turn ends. The interrupt comes later and is spurious.
#[test]
fn an_overflow_at_the_moment_of_rotation_is_not_lost() {
    let (mut profiler, mut unit) = started::<0, 3>(&[every(10, 100), every(11, 50)]);
    unit.count(Pic0, 103);
    let cause = profiler.rotate(&mut unit, &at(9)).unwrap();
    assert_eq!(cause.counters, Pic0.into());
    assert_eq!(unit.take_writes(), [(Pic0, -97), (Pic0, -50)]);
    assert!(profiler.handle(&mut unit, &at(9)).unwrap().is_spurious());
    let sample = profiler.pop().unwrap();
    assert_eq!((sample.event, sample.period), (FakeEvent(10), 100));
    assert_eq!(sample.at.time, 9);
    profiler.rotate(&mut unit, &at(10)).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -97)]);
    assert_eq!(periods(&mut profiler), []);
}

#[test]
fn stopped_time_does_not_count() {
    let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(11)]);
    unit.count(Pic0, 8);
    profiler.rotate(&mut unit, &at(10)).unwrap();
    profiler.stop(&mut unit, &at(20));
    profiler.start(&mut unit, 1000).unwrap();
    assert_eq!(unit.event(Pic0), Some(FakeEvent(11)));
    profiler.rotate(&mut unit, &at(1020)).unwrap();
    let estimate = estimates(&profiler)[0].1.unwrap();
    assert_eq!((estimate.running, estimate.enabled, estimate.events), (10, 40, 32));
}

/// The counts in the turns are random. The true count is within one error of the estimate in about two thirds of the
/// cases, and within three errors in nearly all.
#[test]
fn the_error_is_a_standard_error() {
    let (mut random, mut within) = (1_u64, [0; 3]);
    for _ in 0..1000 {
        let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(11), counted(12)]);
        let mut truth = 0;
        for turn in 1..=90 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let events = (random >> 33) % 1000;
            truth += events;
            if unit.event(Pic0) == Some(FakeEvent(10)) {
                unit.count(Pic0, events as u32);
            }
            profiler.rotate(&mut unit, &at(100 * turn)).unwrap();
        }
        let estimate = estimates(&profiler)[0].1.unwrap();
        let off = estimate.events.abs_diff(truth);
        let error = estimate.error.unwrap();
        for (errors, within) in (1..).zip(&mut within) {
            *within += u32::from(off <= errors * error);
        }
    }
    let [one, two, three] = within;
    assert!((630..=730).contains(&one), "{within:?}");
    assert!(two > 930 && three > 985, "{within:?}");
}

/// The largest numbers cause neither an overflow nor a panic.
#[test]
fn the_largest_numbers() {
    let (mut profiler, mut unit) = started::<0, 3>(&[counted(10), counted(11)]);
    for time in [1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX, 0] {
        unit.count(Pic0, 0x7fff_ffff);
        profiler.rotate(&mut unit, &at(time)).unwrap();
    }
    for (_, estimate) in estimates(&profiler) {
        assert!(estimate.unwrap().events > 0);
    }
    assert_eq!(unit.read(Pic1), 0);
}
