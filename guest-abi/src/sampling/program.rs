//! The program of a unit: what to count, and when to interrupt.

use core::num::NonZeroU32;

use super::mode::{ModeSet, UnitMode};
use super::unit::{CounterUnit, UnitEvent};
use crate::register::{Counter, CounterSet};

/// The event that each counter counts, if any. A counter can count its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<E> {
    events: [Option<E>; 2],
}

impl<E: UnitEvent> Assignment<E> {
    /// No event on either counter.
    pub const NONE: Self = Self {
        events: [None, None],
    };

    /// Returns the assignment of these events to counters 0 and 1; `None` if a counter cannot count its event.
    pub fn new(pic0: Option<E>, pic1: Option<E>) -> Option<Self> {
        let fits = |event: Option<E>, counter| event.is_none_or(|event| event.on(counter));
        (fits(pic0, Counter::Pic0) && fits(pic1, Counter::Pic1)).then_some(Self {
            events: [pic0, pic1],
        })
    }

    /// Returns the assignment of one event to the first counter that can count it; `None` if neither can.
    pub fn one(event: E) -> Option<Self> {
        Self::new(Some(event), None).or_else(|| Self::new(None, Some(event)))
    }

    /// Returns the assignment of two events to counters that can count them; `None` if both need the same counter.
    pub fn two(first: E, second: E) -> Option<Self> {
        Self::new(Some(first), Some(second)).or_else(|| Self::new(Some(second), Some(first)))
    }

    /// Returns the event that a counter counts; `None` if it counts nothing.
    pub const fn event(&self, counter: Counter) -> Option<E> {
        match (counter, self.events) {
            (Counter::Pic0, [event, _]) | (Counter::Pic1, [_, event]) => event,
        }
    }

    /// Returns the counters that count an event.
    pub fn counters(&self) -> CounterSet {
        Counter::ALL
            .iter()
            .copied()
            .filter(|counter| self.event(*counter).is_some())
            .collect()
    }
}

/// What to count, in which modes, and which counters interrupt when they overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program<E, M: UnitMode> {
    /// The event that each counter counts.
    pub events: Assignment<E>,
    /// The modes in which both counters count.
    pub modes: ModeSet<M>,
    /// The counters that ask for the interrupt when they overflow.
    pub interrupts: CounterSet,
}

/// The number of events between two overflows: 1 to 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(NonZeroU32);

impl Period {
    /// One event.
    pub const SHORTEST: Self = Self(NonZeroU32::MIN);

    /// 2^31 events. With a longer period, a counter could not show whether its overflow is yet to come or past.
    pub const LONGEST: Self = Self(NonZeroU32::MIN.saturating_add((1 << 31) - 1));

    /// Returns the period of this many events; `None` for 0 and beyond 2^31.
    pub const fn new(events: u32) -> Option<Self> {
        match NonZeroU32::new(events) {
            Some(events) if events.get() <= Self::LONGEST.0.get() => Some(Self(events)),
            _ => None,
        }
    }

    /// Returns the period nearest to this many events.
    pub const fn nearest(events: u64) -> Self {
        if events > Self::LONGEST.0.get() as u64 {
            return Self::LONGEST;
        }
        match NonZeroU32::new(events as u32) {
            Some(events) => Self(events),
            None => Self::SHORTEST,
        }
    }

    /// Returns the number of events.
    pub const fn events(self) -> u32 {
        self.0.get()
    }

    /// Returns the value to write to a counter of this unit, so that it overflows after the period.
    pub const fn preload<U: CounterUnit + ?Sized>(self) -> u32 {
        U::OVERFLOWS_AT.wrapping_sub(self.0.get())
    }
}
