//! One event on one counter: what it has counted, and when it overflows next.

use super::estimate::{Estimate, Turns};
use super::pace::{Pace, Pacer};
use super::program::Period;
use super::unit::CounterUnit;
use crate::guest::StrandCount;
use crate::register::Counter;

/// What there is to say about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventReport<E> {
    /// The event.
    pub event: E,
    /// The counter that counts it.
    pub counter: Counter,
    /// Its count for the whole time; `None` if it was never counted.
    pub estimate: Option<Estimate>,
    /// Overflows that made a sample, lost ones included.
    pub samples: u64,
    /// Samples for which the ring had no room.
    pub lost: u64,
    /// Periods that were over before the interrupt for the one before had been dealt with. The sample of that interrupt
    /// stands for them, too.
    pub missed: u64,
    /// How often the period was doubled because there were too many interrupts.
    pub throttled: u64,
    /// The period under way; `None` for an event that is only counted.
    pub period: Option<Period>,
}

/// An event with its counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<E> {
    event: E,
    counter: Counter,
    count: StrandCount,
    /// Events until the overflow, as of when the counter was last written or put aside.
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

/// What came of an interrupt.
pub(super) enum Overflow {
    /// The counter is not there yet.
    NotDue,
    /// It counts only, and counts on.
    Counted,
    /// A sample that stands for so many events.
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

    /// Writes the counter, which is stopped, so that it overflows when it is due.
    pub(super) fn load<U: CounterUnit>(&mut self, unit: &mut U) {
        let value = U::OVERFLOWS_AT.wrapping_sub(self.due);
        unit.write(self.counter, value);
        self.count.rebase(value);
    }

    /// The counter has counted for so many ticks more.
    pub(super) fn pass(&mut self, ticks: u64) {
        self.running = self.running.saturating_add(ticks);
    }

    /// Takes what the counter holds.
    pub(super) fn update<U: CounterUnit>(&mut self, unit: &U) {
        self.count.update(unit.read(self.counter));
        let past = unit.past_overflow(self.counter);
        self.due = if past < 0 { past.unsigned_abs() } else { 1 };
    }

    /// The counter asks for the interrupt. After [`update`](Self::update), with the unit stopped. Except when it is not due,
    /// the counter has to be loaded afterwards.
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

    /// The next overflow is due one period after the point at which this one was, or the first of the following such
    /// points that is not past: says how many are.
    fn reload(&mut self, period: Period, past: i64) -> u64 {
        let period = i64::from(period.events());
        let missed = past.max(0) / period;
        // At least 1, as `past` is less than `missed + 1` periods; at most 2^31 + 16.
        self.due = ((missed + 1) * period - past) as u32;
        missed.unsigned_abs()
    }

    /// There was no room for the sample.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// The turn of the event is over.
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
