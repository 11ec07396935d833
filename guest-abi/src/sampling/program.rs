//! The program of a unit: the events to count, and the counters that interrupt.

use core::fmt;

use super::mode::{ModeSet, UnitMode};
use crate::counter::{Counter, CounterSet};

/// An event that a unit can count.
pub trait UnitEvent: Copy + Eq + fmt::Debug + 'static {
    /// Returns the counters that can count the event: at least one.
    fn counters(self) -> CounterSet;

    /// Returns `true` if this counter can count the event.
    fn can_use(self, counter: Counter) -> bool {
        self.counters().contains(counter)
    }
}

/// The event of each counter, if it has one. Every event is one that its counter can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Assignment<E> {
    events: [Option<E>; 2],
}

impl<E: UnitEvent> Assignment<E> {
    /// No event on either counter.
    pub const NONE: Self = Self { events: [None, None] };

    /// Returns the assignment of two events to counters 0 and 1; `None` if a counter cannot count its event.
    pub fn new(pic0: Option<E>, pic1: Option<E>) -> Option<Self> {
        let fits = |event: Option<E>, counter| event.is_none_or(|event| event.can_use(counter));
        (fits(pic0, Counter::Pic0) && fits(pic1, Counter::Pic1))
            .then_some(Self { events: [pic0, pic1] })
    }

    /// Returns the assignment of one event to the first counter that can count it; `None` if neither can.
    pub fn one(event: E) -> Option<Self> {
        Self::new(Some(event), None).or_else(|| Self::new(None, Some(event)))
    }

    /// Returns the assignment of two events to counters that can count them; `None` if both need the same counter.
    pub fn two(first: E, second: E) -> Option<Self> {
        Self::new(Some(first), Some(second)).or_else(|| Self::new(Some(second), Some(first)))
    }

    /// Returns the event of a counter; `None` if the counter counts nothing.
    pub const fn event(&self, counter: Counter) -> Option<E> {
        match (counter, self.events) {
            (Counter::Pic0, [event, _]) | (Counter::Pic1, [_, event]) => event,
        }
    }

    /// Returns the counters that have an event in this assignment.
    pub fn counters(&self) -> CounterSet {
        let [pic0, pic1] = &self.events;
        CounterSet::new(pic0.is_some(), pic1.is_some())
    }
}

/// The events to count, the modes in which the events are counted, and the counters that interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Program<E, M: UnitMode> {
    /// The event of each counter, if it has one.
    pub events: Assignment<E>,
    /// The modes in which the counters count; they are the same for both counters.
    pub modes: ModeSet<M>,
    /// The counters that interrupt when they overflow.
    pub interrupts: CounterSet,
}
