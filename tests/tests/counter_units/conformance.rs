//! Tests that every counter unit must pass, written against the unit's trait.

use guest_abi::Counter::{self, Pic0, Pic1};
use guest_abi::sampling::{
    Assignment, CounterSet, CounterUnit, ModeSet, Period, Program, UnitEvent, UnitMode,
};

/// A unit whose machine lets a test make events happen.
pub(crate) trait Machine: CounterUnit {
    /// The count at which a counter overflows. The count may need more than 32 bits.
    const OVERFLOW_COUNT: u64;

    /// Returns a unit after reset. It can count in all modes, and its interrupts are as exact as the unit allows.
    fn reset() -> Self;

    /// Makes these events happen in a single step in this mode.
    fn happen(&mut self, mode: Self::Mode, events: &[(Self::Event, u32)]);

    /// Returns the count that the unit's specification requires for this event after a step in which these events happened.
    fn counted(event: Self::Event, happened: &[(Self::Event, u32)]) -> u32;

    /// Returns `true` while the unit requests its interrupt.
    fn interrupted(&self) -> bool;
}

type ProgramOf<M> = Program<<M as CounterUnit>::Event, <M as CounterUnit>::Mode>;

/// Returns a program that counts in every mode, with interrupts from both counters.
fn program<M: Machine>(pic0: Option<M::Event>, pic1: Option<M::Event>) -> ProgramOf<M> {
    Program {
        events: Assignment::new(pic0, pic1).expect("events on their counters"),
        modes: ModeSet::ALL,
        interrupts: CounterSet::BOTH,
    }
}

fn first<M: Machine>(counter: Counter) -> M::Event {
    M::events()
        .find(|event| event.can_use(counter) && M::counted(*event, &[(*event, 1)]) == 1)
        .expect("an event that counts 1 when it happens once")
}

/// Returns a program whose two counters count different events.
fn two_events<M: Machine>() -> ProgramOf<M> {
    program::<M>(Some(first::<M>(Pic0)), Some(first::<M>(Pic1)))
}

/// Returns a unit that executes [`two_events`].
fn started<M: Machine>() -> M {
    let mut unit = M::reset();
    unit.start(&two_events::<M>()).expect("all modes are allowed");
    unit
}

/// Makes one counter's event happen `n` times in a single step. The other counter's event does not happen.
fn happen<M: Machine>(unit: &mut M, counter: Counter, n: u32) {
    let other = if counter == Pic0 { Pic1 } else { Pic0 };
    let before = unit.read(other);
    unit.happen(M::Mode::ALL[0], &[(first::<M>(counter), n)]);
    if first::<M>(Pic0) == first::<M>(Pic1) {
        unit.write(other, before);
    }
    assert_eq!(unit.read(other), before, "only {counter:?} counts");
}

pub(crate) fn starts_silent<M: Machine>() {
    let mut unit = M::reset();
    for mode in M::Mode::ALL {
        for event in M::events() {
            unit.happen(*mode, &[(event, 1)]);
        }
    }
    assert_eq!((unit.read(Pic0), unit.read(Pic1)), (0, 0));
    assert_eq!(unit.overflowed(), CounterSet::NONE);
    assert!(!unit.interrupted() && !unit.timer_pending());
}

pub(crate) fn has_two_counters_of_32_bits<M: Machine>() {
    assert_eq!(M::WIDTH, 32);
    assert_eq!(u64::from(M::OVERFLOWS_AT), M::OVERFLOW_COUNT % (1 << 32));
    assert!(M::MAX_EARLY <= 15);
    assert!(M::events().all(|event| !event.counters().is_empty()));
}

/// Counts every event in every set of modes, with each counter that can count it.
pub(crate) fn counts_its_event_in_its_modes<M: Machine>() {
    let mut cases = 0;
    for event in M::events() {
        for counter in event.counters().iter() {
            for modes in ModeSet::<M::Mode>::subsets() {
                let (pic0, pic1) = match counter {
                    Pic0 => (Some(event), None),
                    Pic1 => (None, Some(event)),
                };
                let mut unit = M::reset();
                let program = Program { modes, ..program::<M>(pic0, pic1) };
                unit.start(&program).expect("all modes are allowed");
                unit.write(counter, 1000);
                let mut expected = 1000;
                for mode in M::Mode::ALL {
                    let happened = [(event, 5)];
                    unit.happen(*mode, &happened);
                    if modes.contains(*mode) {
                        expected += M::counted(event, &happened);
                    }
                    let case = format!("{event:?} on {counter:?} for {modes:?} in {mode:?}");
                    assert_eq!(unit.read(counter), expected, "{case}");
                    cases += 1;
                }
            }
        }
    }
    assert!(cases >= M::events().count() * M::Mode::ALL.len() * (1 << M::Mode::ALL.len()));
}

/// For every pair of events, selects one event and makes the other happen.
pub(crate) fn counts_nothing_else<M: Machine>() {
    for selected in M::events() {
        for happens in M::events() {
            let mut unit = M::reset();
            let assignment = Assignment::one(selected).expect("a counter for every event");
            let counter = assignment.counters().iter().next().expect("one counter");
            let (modes, interrupts) = (ModeSet::ALL, CounterSet::NONE);
            unit.start(&Program { events: assignment, modes, interrupts })
                .expect("all modes are allowed");
            let happened = [(happens, 7)];
            unit.happen(M::Mode::ALL[0], &happened);
            let expected = M::counted(selected, &happened);
            assert_eq!(unit.read(counter), expected, "{selected:?}, {happens:?}");
        }
    }
}

/// For every pair of events on the two counters, makes both happen in one step.
pub(crate) fn counts_two_events_at_once<M: Machine>() {
    for event0 in M::events().filter(|event| event.can_use(Pic0)) {
        for event1 in M::events().filter(|event| event.can_use(Pic1)) {
            let mut unit = M::reset();
            unit.start(&program::<M>(Some(event0), Some(event1))).expect("all modes are allowed");
            let happened = [(event0, 3), (event1, 4)];
            unit.happen(M::Mode::ALL[0], &happened);
            let expected = [event0, event1].map(|event| M::counted(event, &happened));
            let read = [unit.read(Pic0), unit.read(Pic1)];
            assert_eq!(read, expected, "{event0:?} and {event1:?}");
        }
    }
}

pub(crate) fn overflows_after_its_period<M: Machine>() {
    let long = [1 << 30, (1 << 31) - 1, 1 << 31];
    for events in [1_u32, 2, 3, 15, 16, 17, 1000].into_iter().chain(long) {
        for counter in [Pic0, Pic1] {
            let mut unit = started::<M>();
            let period = Period::new(events).expect("a period");
            unit.preload(counter, period);
            let preloaded = M::OVERFLOW_COUNT - u64::from(events);
            assert_eq!(u64::from(unit.read(counter)), preloaded);
            let still = i64::from(unit.past_overflow(counter));
            assert_eq!(still, -i64::from(events));

            happen(&mut unit, counter, events - 1);
            let overflowed = unit.overflowed();
            assert_eq!(overflowed, CounterSet::NONE, "one of {events} missing");
            assert!(!unit.interrupted());
            happen(&mut unit, counter, 1);
            assert_eq!(unit.overflowed(), CounterSet::only(counter), "after {events}");
            assert!(unit.interrupted());
            assert_eq!(unit.past_overflow(counter), 0);
        }
    }
}

pub(crate) fn counts_on_after_the_overflow<M: Machine>() {
    for counter in [Pic0, Pic1] {
        let mut unit = started::<M>();
        unit.preload(counter, Period::MIN);
        for past in 0..5 {
            happen(&mut unit, counter, 1);
            assert_eq!(unit.past_overflow(counter), past);
            assert_eq!(unit.overflowed(), CounterSet::only(counter));
        }
        happen(&mut unit, counter, i32::MAX as u32 - 4);
        assert_eq!(unit.past_overflow(counter), i32::MAX);
        assert_eq!(unit.overflowed(), CounterSet::only(counter));
    }
}

pub(crate) fn shows_the_overshoot_of_a_step<M: Machine>() {
    for counter in [Pic0, Pic1] {
        let mut unit = started::<M>();
        unit.preload(counter, Period::new(100).expect("a period"));
        happen(&mut unit, counter, 104);
        assert_eq!(unit.overflowed(), CounterSet::only(counter));
        assert_eq!(unit.past_overflow(counter), 4);
    }
}

/// Makes every set of counters overflow, combined with every set of counters that may interrupt.
pub(crate) fn only_counters_that_may_interrupt_do<M: Machine>() {
    let sets = || {
        [CounterSet::NONE, CounterSet::only(Pic0), CounterSet::only(Pic1), CounterSet::BOTH]
            .into_iter()
    };
    for interrupts in sets() {
        for overflow in sets() {
            let mut unit = M::reset();
            let program = Program { interrupts, ..two_events::<M>() };
            unit.start(&program).expect("all modes are allowed");
            for counter in overflow.iter() {
                unit.preload(counter, Period::MIN);
            }
            let happened = [(first::<M>(Pic0), 1), (first::<M>(Pic1), 1)];
            unit.happen(M::Mode::ALL[0], &happened);
            let interrupting = interrupts.intersection(overflow);
            assert_eq!(unit.overflowed(), interrupting, "{overflow:?}, {interrupts:?}");
            assert_eq!(unit.interrupted(), !interrupting.is_empty());
        }
    }
}

/// Makes both counters overflow, and acknowledges each set of counters in turn.
pub(crate) fn acknowledges_the_given_counters<M: Machine>() {
    for told in [CounterSet::NONE, CounterSet::only(Pic0), CounterSet::only(Pic1), CounterSet::BOTH]
    {
        let mut unit = started::<M>();
        unit.preload(Pic0, Period::MIN);
        unit.preload(Pic1, Period::MIN);
        let happened = [(first::<M>(Pic0), 4), (first::<M>(Pic1), 9)];
        unit.happen(M::Mode::ALL[0], &happened);
        let past = [Pic0, Pic1].map(|counter| unit.past_overflow(counter) as u32);
        assert!(past.iter().all(|past| *past >= 3));

        unit.acknowledge(told);
        assert_eq!(unit.overflowed(), CounterSet::BOTH.without(told));
        assert_eq!(unit.interrupted(), told != CounterSet::BOTH);
        let low = [Pic0, Pic1].map(|counter| unit.read(counter) & 0x7fff_ffff);
        assert_eq!(low, past, "the overshoot stays, {told:?} acknowledged");

        for counter in told.iter() {
            unit.preload(counter, Period::MIN);
            assert!(!unit.overflowed().contains(counter));
            happen(&mut unit, counter, 1);
            assert!(unit.overflowed().contains(counter), "it overflows again");
        }
    }
}

pub(crate) fn stops_and_goes_on<M: Machine>() {
    let mut unit = started::<M>();
    let happened = [(first::<M>(Pic0), 1), (first::<M>(Pic1), 1)];
    unit.preload(Pic0, Period::MIN);
    unit.happen(M::Mode::ALL[0], &happened);
    let held = [unit.read(Pic0), unit.read(Pic1)];

    unit.stop();
    for mode in M::Mode::ALL {
        unit.happen(*mode, &happened);
    }
    assert_eq!([unit.read(Pic0), unit.read(Pic1)], held);
    assert_eq!(unit.overflowed(), CounterSet::only(Pic0), "the interrupt stays");
    assert!(unit.interrupted());

    unit.start(&two_events::<M>()).expect("all modes are allowed");
    assert_eq!([unit.read(Pic0), unit.read(Pic1)], held);
    assert_eq!(unit.overflowed(), CounterSet::only(Pic0), "the interrupt stays");
    unit.acknowledge(CounterSet::only(Pic0));
    assert!(!unit.interrupted());
    let before = [unit.read(Pic0), unit.read(Pic1)];
    unit.happen(M::Mode::ALL[0], &happened);
    let counted = [first::<M>(Pic0), first::<M>(Pic1)].map(|event| M::counted(event, &happened));
    let after = [before[0] + counted[0], before[1] + counted[1]];
    assert_eq!([unit.read(Pic0), unit.read(Pic1)], after);
}

pub(crate) fn writes_one_counter<M: Machine>() {
    for value in [0, 1, 0x7fff_fffe, 0x7fff_ffff, 0x1234_5678] {
        let mut unit = started::<M>();
        unit.write(Pic0, value);
        assert_eq!((unit.read(Pic0), unit.read(Pic1)), (value, 0));
        unit.write(Pic1, 77);
        assert_eq!((unit.read(Pic0), unit.read(Pic1)), (value, 77));
        assert_eq!(unit.overflowed(), CounterSet::NONE);
    }
}

/// Writes the counter just before and just after the event that makes it overflow.
pub(crate) fn writes_at_the_moment_of_overflow<M: Machine>() {
    for counter in [Pic0, Pic1] {
        let mut unit = started::<M>();
        unit.preload(counter, Period::MIN);
        unit.preload(counter, Period::new(2).expect("a period"));
        happen(&mut unit, counter, 1);
        assert_eq!(unit.overflowed(), CounterSet::NONE, "written just before");

        unit.preload(counter, Period::MIN);
        happen(&mut unit, counter, 1);
        unit.acknowledge(CounterSet::only(counter));
        unit.preload(counter, Period::new(2).expect("a period"));
        assert_eq!(unit.overflowed(), CounterSet::NONE, "written just after");
        happen(&mut unit, counter, 2);
        assert_eq!(unit.overflowed(), CounterSet::only(counter));
        assert_eq!(unit.past_overflow(counter), 0);
    }
}

/// Defines a test for each function of this module, for one machine.
macro_rules! suite {
    ($name:ident, $machine:ty) => {
        mod $name {
            $crate::counter_units::conformance::suite!(
                @ $machine: starts_silent, has_two_counters_of_32_bits, counts_its_event_in_its_modes, counts_nothing_else,
                counts_two_events_at_once, overflows_after_its_period, counts_on_after_the_overflow,
                shows_the_overshoot_of_a_step, only_counters_that_may_interrupt_do, acknowledges_the_given_counters,
                stops_and_goes_on, writes_one_counter, writes_at_the_moment_of_overflow
            );
        }
    };
    (@ $machine:ty: $($test:ident),*) => {
        $(#[test]
        fn $test() {
            $crate::counter_units::conformance::$test::<$machine>();
        })*
    };
}
pub(crate) use suite;
