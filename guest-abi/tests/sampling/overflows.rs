//! Tests interrupts: their causes, their samples, and the start values of the next periods.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::HvError;
use guest_abi::sampling::{
    Cause, CounterSet, CounterUnit, ModeSet, NoRoom, Pace, Profiler, Sample,
};
use proptest::prelude::*;

use crate::fake::{
    BOTH, FakeEvent, Topmost, Wrapping, at, counted, every, period, periods, sampled, samples,
    started,
};

const NOTHING: Cause = by(CounterSet::NONE);

const fn by(counters: CounterSet) -> Cause {
    Cause { counters, timer: false }
}

#[test]
fn starts_one_period_before_the_overflow() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100), every(4, 0x8000_0000)]);
    profiler.start(&mut unit, 0).unwrap();
    assert_eq!(unit.written, [(Pic0, 0xffff_ff9c), (Pic1, 0x8000_0000)]);
    let events = BOTH.map(|counter| unit.event(counter));
    assert_eq!(events, [Some(FakeEvent(3)), Some(FakeEvent(4))]);
    let program = unit.program.unwrap();
    assert_eq!((program.interrupts, program.modes), (CounterSet::BOTH, ModeSet::ALL));
    let (mut profiler, mut unit) =
        started::<0x8000_0000, 1>(&[every(3, 100), every(20, 0x8000_0000)]);
    profiler.start(&mut unit, 0).unwrap();
    assert_eq!(unit.written, [(Pic0, 0x7fff_ff9c), (Pic1, 0)]);
}

#[test]
fn a_sample_says_where_when_and_what() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    assert!(unit.count(Pic0, 100));
    assert_eq!(profiler.handle(&mut unit, &at(77)), Ok(by(Pic0.into())));
    assert_eq!(profiler.waiting(), 1);
    assert_eq!(profiler.pop(), Some(Sample { at: at(77), event: FakeEvent(3), period: 100 }));
    assert_eq!(profiler.pop(), None);
    assert!(unit.program.is_some(), "it counts again");
    assert_eq!(unit.pending, CounterSet::NONE);
}

/// Interrupts come 0, 7, 3 and 99 events late. A late interrupt makes the next period shorter by the same number of events.
fn overshoot<const AT: u32>() {
    let (mut profiler, mut unit) = started::<AT, 1>(&[every(3, 100)]);
    profiler.start(&mut unit, 0).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -100)]);
    for (counts, left) in [(100, -100), (107, -93), (96, -97), (196, -1), (1, -100)] {
        assert!(unit.count(Pic0, counts));
        profiler.handle(&mut unit, &at(0)).unwrap();
        assert_eq!(unit.take_writes(), [(Pic0, left)], "after {counts}");
    }
    assert_eq!(periods(&mut profiler), [100; 5]);
}

#[test]
fn the_overshoot_carries_over() {
    overshoot::<0>();
    overshoot::<0x8000_0000>();
}

/// Interrupts come 16, 1 and 5 events early. An early interrupt makes the next period longer by the same number of events.
#[test]
fn an_early_interrupt_carries_over() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    for (counts, left) in [(84, -116), (115, -101), (96, -105)] {
        assert!(!unit.count(Pic0, counts));
        unit.ask(Pic0);
        assert_eq!(profiler.handle(&mut unit, &at(0)), Ok(by(Pic0.into())));
        assert_eq!(unit.take_writes(), [(Pic0, left)]);
    }
    assert_eq!(periods(&mut profiler), [100; 3]);
}

/// The interrupt comes 250 events late: two more periods have ended, and the current period has 50 events left.
#[test]
fn periods_that_are_over_already_are_in_the_sample() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    // The second interrupt comes exactly at the end of a period.
    for (counts, left) in [(350, -50), (150, -100)] {
        unit.count(Pic0, counts);
        profiler.handle(&mut unit, &at(0)).unwrap();
        assert_eq!(unit.take_writes(), [(Pic0, left)]);
    }
    assert_eq!(periods(&mut profiler), [300, 200]);
    let report = profiler.events().next().unwrap();
    assert_eq!((report.samples, report.missed), (2, 3));
}

#[test]
fn both_at_once() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100), every(4, 10)]);
    unit.count(Pic1, 12);
    unit.count(Pic0, 101);
    assert_eq!(profiler.handle(&mut unit, &at(5)), Ok(by(CounterSet::BOTH)));
    assert_eq!(unit.take_writes(), [(Pic0, -99), (Pic1, -8)]);
    let events = samples(&mut profiler).map(|sample| (sample.event, sample.period));
    assert!(events.eq([(FakeEvent(3), 100), (FakeEvent(4), 10)]));
    assert_eq!((profiler.interrupts(), profiler.spurious()), (1, 0));
}

#[test]
fn a_counter_that_does_not_ask_is_left_alone() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100), every(4, 10)]);
    unit.count(Pic0, 40);
    unit.count(Pic1, 10);
    profiler.handle(&mut unit, &at(5)).unwrap();
    assert_eq!(unit.take_writes(), [(Pic1, -10)]);
    assert_eq!(unit.past_overflow(Pic0), -60);
}

#[test]
fn the_timer_is_told_apart() {
    let (mut profiler, mut unit) = started::<0x8000_0000, 1>(&[every(3, 100)]);
    unit.timer = true;
    assert_eq!(profiler.handle(&mut unit, &at(1)), Ok(Cause { timer: true, ..NOTHING }));
    unit.count(Pic0, 100);
    let both = Cause { timer: true, ..by(Pic0.into()) };
    assert_eq!(profiler.handle(&mut unit, &at(2)), Ok(both));
    assert!(unit.timer, "the timer's own handler deals with it");
    assert_eq!((profiler.interrupts(), profiler.spurious()), (2, 0));
    assert_eq!(periods(&mut profiler), [100]);
}

#[test]
fn spurious_interrupts_are_counted_and_change_nothing() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    unit.count(Pic0, 99);
    unit.take_writes();
    assert_eq!(profiler.handle(&mut unit, &at(1)), Ok(NOTHING));
    assert!(unit.take_writes().is_empty());
    assert!(unit.count(Pic0, 1), "goes on where it was");
    profiler.handle(&mut unit, &at(2)).unwrap();
    assert_eq!(profiler.handle(&mut unit, &at(2)), Ok(NOTHING), "not twice");
    assert_eq!((profiler.interrupts(), profiler.spurious()), (3, 2));
    assert_eq!(periods(&mut profiler), [100]);
}

/// The unit interrupts 17 events before the overflow. Hardware interrupts at most 16 events before it.
#[test]
fn an_overflow_that_is_not_due_is_spurious() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    unit.count(Pic0, 83);
    unit.ask(Pic0);
    assert_eq!(profiler.handle(&mut unit, &at(1)), Ok(NOTHING));
    assert_eq!(unit.pending, CounterSet::NONE);
    assert_eq!(profiler.spurious(), 1);
    assert!(unit.count(Pic0, 17));
    profiler.handle(&mut unit, &at(2)).unwrap();
    assert_eq!(periods(&mut profiler), [100]);
}

#[test]
fn overflows_from_before_the_start_are_dropped() {
    let mut unit = Wrapping::default();
    unit.ask(Pic0);
    let mut profiler = Profiler::<_, 1, 8>::new(ModeSet::ALL, &[every(3, 100)]).unwrap();
    profiler.start(&mut unit, 0).unwrap();
    assert_eq!(unit.pending, CounterSet::NONE);
}

#[test]
fn before_the_start_and_after_the_stop_nothing_is_sampled() {
    let mut unit = Topmost::default();
    let mut profiler = Profiler::<_, 1, 8>::new(ModeSet::ALL, &[every(3, 100)]).unwrap();
    unit.ask(Pic0);
    assert_eq!(profiler.handle(&mut unit, &at(1)), Ok(NOTHING));
    assert_eq!((unit.program, profiler.waiting()), (None, 0));

    profiler.start(&mut unit, 2).unwrap();
    unit.count(Pic0, 100);
    assert_eq!(profiler.stop(&mut unit, &at(3)), by(Pic0.into()), "not lost");
    assert_eq!((unit.program, profiler.waiting()), (None, 1));
    unit.ask(Pic0);
    assert_eq!(profiler.stop(&mut unit, &at(4)), NOTHING);
    assert_eq!(profiler.waiting(), 1);
}

#[test]
fn goes_on_after_a_stop_in_the_middle_of_a_period() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    unit.count(Pic0, 30);
    profiler.stop(&mut unit, &at(1));
    unit.counters = [5, 5];
    unit.take_writes();
    profiler.start(&mut unit, 2).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -70)]);
    let report = profiler.events().next().unwrap();
    assert_eq!(report.estimate.unwrap().counted, 30);
}

/// The profiler stops after a counter has passed its overflow, but the unit does not report this overflow. After the next start, the
/// counter overflows at the first event.
#[test]
fn an_overflow_for_which_the_unit_does_not_ask_comes_with_the_next_event() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    unit.count(Pic0, 104);
    unit.pending = CounterSet::NONE;
    assert_eq!(profiler.stop(&mut unit, &at(1)), NOTHING);
    unit.take_writes();
    profiler.start(&mut unit, 2).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -1)]);
}

#[test]
fn a_refusal_is_told_and_keeps_what_was_counted() {
    let (mut profiler, mut unit) = started::<0, 1>(&[every(3, 100)]);
    unit.count(Pic0, 105);
    unit.refuses = true;
    assert_eq!(profiler.handle(&mut unit, &at(9)), Err(HvError::NoAccess));
    assert_eq!(unit.program, None);
    assert_eq!(profiler.waiting(), 1);
    assert_eq!(profiler.handle(&mut unit, &at(10)), Ok(NOTHING));
    // The profiler does not restart the unit: only the unit's owner does.
    assert_eq!(unit.program, None);
    unit.refuses = false;
    unit.take_writes();
    profiler.start(&mut unit, 20).unwrap();
    assert_eq!(unit.take_writes(), [(Pic0, -95)]);
    let mut refused = Profiler::<Wrapping, 1, 8>::new(ModeSet::ALL, &[]).unwrap();
    unit.refuses = true;
    assert_eq!(refused.start(&mut unit, 0), Err(HvError::NoAccess));
}

#[test]
fn samples_without_room_are_lost_and_counted() {
    let mut unit = Wrapping::default();
    let mut profiler =
        Profiler::<_, 1, 3>::new(ModeSet::ALL, &[every(3, 10), every(4, 20)]).unwrap();
    profiler.start(&mut unit, 0).unwrap();
    for time in 1..=4 {
        unit.count(Pic0, 10);
        unit.count(Pic1, 10);
        profiler.handle(&mut unit, &at(time)).unwrap();
    }
    let kept = samples(&mut profiler).map(|sample| (sample.at.time, sample.event.0));
    assert!(kept.eq([(1, 3), (2, 3), (2, 4)]));
    assert_eq!(profiler.lost(), 3);
    let lost = profiler.events().map(|report| (report.samples, report.lost));
    assert!(lost.eq([(4, 2), (2, 1)]));
}

#[test]
fn events_take_the_counters_that_can_count_them() {
    let places = |requests: &[_]| {
        let profiler = Profiler::<Wrapping, 2, 1>::new(ModeSet::ALL, requests)?;
        let places = profiler.events().map(|report| (report.event.0, report.counter));
        Ok(places.collect::<Vec<_>>())
    };
    assert_eq!(places(&[20, 10].map(counted)), Ok(vec![(10, Pic0), (20, Pic1)]));
    let four = [10, 11, 0, 1].map(counted);
    assert_eq!(places(&four), Ok(vec![(10, Pic0), (0, Pic1), (11, Pic0), (1, Pic1)]));
    assert_eq!(places(&[10, 11, 12].map(counted)), Err(NoRoom(FakeEvent(12))));
}

/// Interrupts may be late or early. The samples always cover exactly the periods that have ended, and the count is right.
fn no_drift<const AT: u32>(pace: Pace, steps: &[u32]) {
    let (mut profiler, mut unit) = started::<AT, 1>(&[sampled(3, pace), counted(4)]);
    let (mut happened, mut stood_for) = (0_u64, 0_u64);
    for (time, step) in steps.iter().enumerate() {
        unit.count(Pic0, *step);
        happened += u64::from(*step);
        if unit.past_overflow(Pic0) >= -16 {
            unit.ask(Pic0);
        }
        if unit.pending.is_empty() {
            continue;
        }
        profiler.handle(&mut unit, &at(time as u64)).unwrap();
        stood_for += periods(&mut profiler).into_iter().sum::<u64>();
        let left = -i64::from(unit.past_overflow(Pic0));
        let next = i64::from(profiler.events().next().unwrap().period.unwrap().events());
        assert_eq!(happened as i64 + left, stood_for as i64 + next);
        assert!(left >= 1 && left <= next + 16);
    }
    profiler.stop(&mut unit, &at(steps.len() as u64));
    let report = profiler.events().next().unwrap();
    assert_eq!(report.estimate.unwrap().counted, happened);
}

proptest! {
    #[test]
    fn nothing_drifts(
        events in prop_oneof![1_u32..50, 1_u32..100_000, Just(1 << 31)],
        shift in prop::option::of(1_u32..8),
        seed in any::<u64>(),
        steps in prop::collection::vec(prop_oneof![0_u32..20, 0_u32..5000, 0_u32..1 << 30], 1..200),
    ) {
        let pace = Pace::every(period(events));
        let pace = shift.map_or(pace, |shift| pace.randomised(shift, seed));
        no_drift::<0>(pace, &steps);
        no_drift::<0x8000_0000>(pace, &steps);
    }
}
