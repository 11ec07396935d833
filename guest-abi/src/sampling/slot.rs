//! One event on one counter: its count, and when the counter overflows next.

use super::estimate::{Estimate, Turns};
use super::pace::{Pace, Pacer};
use super::program::Period;
use super::unit::CounterUnit;
use crate::guest::StrandCount;
use crate::register::Counter;

/// A report on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventReport<E> {
    /// The event.
    pub event: E,
    /// The counter that counts it.
    pub counter: Counter,
    /// Its count for the whole time; `None` if it was never counted.
    pub estimate: Option<Estimate>,
    /// Samples that were taken, including those that were lost.
    pub samples: u64,
    /// Samples that were lost because there was no room for them.
    pub lost: u64,
    /// Periods that ended before the interrupt for the previous one had been handled. The sample of that interrupt stands for
    /// them too.
    pub missed: u64,
    /// How many times the period was doubled because there were too many interrupts.
    pub throttled: u64,
    /// The present period; `None` for an event that is only counted.
    pub period: Option<Period>,
}

/// An event with its counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<E> {
    event: E,
    counter: Counter,
    count: StrandCount,
    /// Events until the overflow, as of the last time that the counter was written or its value taken.
    due: u32,
    running: u64,
    turns: Turns,
    /// The count and the running time at the beginning of the turn.
    turn_began: (u64, u64),
    pacer: Option<Pacer>,
    samples: u64,
    lost: u64,
    missed: u64,
    throttled: u64,
}

/// The outcome of an interrupt for one counter.
pub(super) enum Overflow {
    /// The overflow is not due yet.
    NotDue,
    /// The event is only counted. The counter continues.
    Counted,
    /// A sample that stands for this many events.
    Sampled(u64),
}

impl<E: Copy> Slot<E> {
    pub(super) fn new(event: E, counter: Counter, pace: Option<Pace>) -> Self {
        let pacer = pace.map(Pacer::new);
        let first = pacer.map_or(Period::LONGEST, |pacer| pacer.current());
        Self {
            event,
            counter,
            count: StrandCount::new(0_u32),
            due: first.events(),
            running: 0,
            turns: Turns::default(),
            turn_began: (0, 0),
            pacer,
            samples: 0,
            lost: 0,
            missed: 0,
            throttled: 0,
        }
    }

    pub(super) const fn event(&self) -> E {
        self.event
    }

    pub(super) const fn counter(&self) -> Counter {
        self.counter
    }

    /// Writes the counter, which is stopped, so that it overflows when that is due.
    pub(super) fn load<U: CounterUnit>(&mut self, unit: &mut U) {
        let value = U::OVERFLOWS_AT.wrapping_sub(self.due);
        unit.write(self.counter, value);
        self.count.rebase(value);
    }

    /// Adds ticks in which the counter has counted.
    pub(super) fn pass(&mut self, ticks: u64) {
        self.running = self.running.saturating_add(ticks);
    }

    /// Takes the value of the counter.
    pub(super) fn update<U: CounterUnit>(&mut self, unit: &U) {
        self.count.update(unit.read(self.counter));
        let past = unit.past_overflow(self.counter);
        self.due = if past < 0 { past.unsigned_abs() } else { 1 };
    }

    /// Handles an overflow of the counter, after [`update`](Self::update) and with the unit stopped. Unless the result is
    /// [`NotDue`](Overflow::NotDue), the caller loads the counter afterwards.
    pub(super) fn overflow<U: CounterUnit>(&mut self, unit: &U) -> Overflow {
        let past = i64::from(unit.past_overflow(self.counter));
        if past < -i64::from(U::EARLY) {
            return Overflow::NotDue;
        }
        let Some(pacer) = &mut self.pacer else {
            self.reload(Period::LONGEST, past);
            return Overflow::Counted;
        };
        let finished = u64::from(pacer.current().events());
        let late = past.max(0).unsigned_abs();
        self.throttled += u64::from(pacer.next(self.running, finished + late));
        let next = pacer.current();
        let missed = self.reload(next, past);
        self.missed += missed;
        self.samples += 1;
        Overflow::Sampled(finished + missed * u64::from(next.events()))
    }

    /// Sets when the next overflow is due: one period after this one was, or at the first whole number of periods after it
    /// that is not past. Returns the number of those that are past.
    fn reload(&mut self, period: Period, past: i64) -> u64 {
        let period = i64::from(period.events());
        let missed = past.max(0) / period;
        // At least 1, as `past` is less than `missed + 1` periods; at most 2^31 + 15.
        self.due = ((missed + 1) * period - past) as u32;
        missed.unsigned_abs()
    }

    /// Counts a sample that was lost.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Ends the turn of the event.
    pub(super) fn end_turn(&mut self) {
        let (events, running) = self.turn_began;
        let counted = self.count.events().wrapping_sub(events);
        self.turns.add(counted, self.running - running);
        self.turn_began = (self.count.events(), self.running);
    }

    pub(super) fn report(&self, enabled: u64) -> EventReport<E> {
        let counted = self.count.events();
        EventReport {
            event: self.event,
            counter: self.counter,
            estimate: self.turns.estimate(counted, self.running, enabled),
            samples: self.samples,
            lost: self.lost,
            missed: self.missed,
            throttled: self.throttled,
            period: self.pacer.map(|pacer| pacer.current()),
        }
    }
}
