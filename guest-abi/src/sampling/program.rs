//! What a unit is told to count.

use core::num::NonZeroU32;

use super::mode::{ModeSet, UnitMode};
use super::unit::{CounterUnit, UnitEvent};
use crate::register::{Counter, CounterSet};

/// Which event each counter counts, if any: events that it can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<E> {
    events: [Option<E>; 2],
}

impl<E: UnitEvent> Assignment<E> {
    /// Nothing is counted.
    pub const NONE: Self = Self {
        events: [None, None],
    };

    /// These events on counters 0 and 1; `None` if a counter cannot count its event.
    pub fn new(pic0: Option<E>, pic1: Option<E>) -> Option<Self> {
        let fits = |event: Option<E>, counter| event.is_none_or(|event| event.on(counter));
        (fits(pic0, Counter::Pic0) && fits(pic1, Counter::Pic1)).then_some(Self {
            events: [pic0, pic1],
        })
    }

    /// One event, on the first counter that can count it; `None` if there is none.
    pub fn one(event: E) -> Option<Self> {
        Self::new(Some(event), None).or_else(|| Self::new(None, Some(event)))
    }

    /// Two events, each on a counter that can count it; `None` if they need the same one.
    pub fn two(first: E, second: E) -> Option<Self> {
        Self::new(Some(first), Some(second)).or_else(|| Self::new(Some(second), Some(first)))
    }

    /// What a counter counts.
    pub const fn event(&self, counter: Counter) -> Option<E> {
        match (counter, self.events) {
            (Counter::Pic0, [event, _]) | (Counter::Pic1, [_, event]) => event,
        }
    }

    /// The counters that count something.
    pub fn counters(&self) -> CounterSet {
        Counter::ALL
            .iter()
            .copied()
            .filter(|counter| self.event(*counter).is_some())
            .collect()
    }
}

/// All that a unit is told: what to count, in which modes, and which counters interrupt when they overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program<E, M: UnitMode> {
    /// Which event each counter counts.
    pub events: Assignment<E>,
    /// The modes in which both count.
    pub modes: ModeSet<M>,
    /// The counters that ask for the interrupt when they overflow.
    pub interrupts: CounterSet,
}

/// How many events lie between two overflows: 1 to 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(NonZeroU32);

impl Period {
    /// One event.
    pub const SHORTEST: Self = Self(NonZeroU32::MIN);

    /// 2^31 events: what is still to come can be told from what came too late.
    pub const LONGEST: Self = Self(NonZeroU32::MIN.saturating_add((1 << 31) - 1));

    /// So many events; `None` for 0 and beyond 2^31.
    pub const fn new(events: u32) -> Option<Self> {
        match NonZeroU32::new(events) {
            Some(events) if events.get() <= Self::LONGEST.0.get() => Some(Self(events)),
            _ => None,
        }
    }

    /// The period nearest to so many events.
    pub const fn nearest(events: u64) -> Self {
        if events > Self::LONGEST.0.get() as u64 {
            return Self::LONGEST;
        }
        match NonZeroU32::new(events as u32) {
            Some(events) => Self(events),
            None => Self::SHORTEST,
        }
    }

    /// How many events.
    pub const fn events(self) -> u32 {
        self.0.get()
    }

    /// What a counter of this unit is written with, to overflow after so many events.
    pub const fn preload<U: CounterUnit + ?Sized>(self) -> u32 {
        U::OVERFLOWS_AT.wrapping_sub(self.0.get())
    }
}
