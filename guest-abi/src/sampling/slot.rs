//! One event on one counter: its count and its next overflow.

use super::estimate::{Estimate, TurnStatistics};
use super::pace::{Pace, Pacer};
use super::period::Period;
use super::unit::CounterUnit;
use crate::counter::Counter;
use crate::guest::StrandCount;

/// The state of one event of a profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EventReport<E> {
    /// The event that this report is about.
    pub event: E,
    /// The counter that the profiler has assigned to the event.
    pub counter: Counter,
    /// The estimated count for the whole time; `None` if the event was never counted.
    pub estimate: Option<Estimate>,
    /// The number of samples, including lost samples.
    pub samples: u64,
    /// The number of samples that were lost because there was no room.
    pub lost: u64,
    /// The number of periods that ended while the interrupt of an earlier period was pending. The earlier period's sample also represents
    /// these periods' events.
    pub missed: u64,
    /// The number of times that throttling doubled the period.
    pub throttled: u64,
    /// The current period; `None` for an event without samples.
    pub period: Option<Period>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<E> {
    /// The totals, except for the estimate and the period, which [`report`](Self::report) fills in.
    totals: EventReport<E>,
    count: StrandCount,
    /// The number of events until the overflow, as of the last read or write of the counter.
    due: u32,
    running: u64,
    turns: TurnStatistics,
    /// The count and the running time at the start of the turn.
    turn_start: (u64, u64),
    pacer: Option<Pacer>,
}

/// The result of checking one counter for an overflow.
pub(super) enum Overflow {
    /// The counter has not overflowed yet.
    NotDue,
    /// The counter of an event without samples overflowed.
    Counted,
    /// The counter overflowed, and its sample represents this number of events.
    Sampled(u64),
}

impl<E: Copy> Slot<E> {
    pub(super) fn new(event: E, counter: Counter, pace: Option<Pace>) -> Self {
        let pacer = pace.map(Pacer::new);
        let first = pacer.map_or(Period::MAX, |pacer| pacer.current());
        let totals = EventReport {
            event,
            counter,
            estimate: None,
            samples: 0,
            lost: 0,
            missed: 0,
            throttled: 0,
            period: None,
        };
        Self {
            totals,
            count: StrandCount::new(0_u32),
            due: first.events(),
            running: 0,
            turns: TurnStatistics::default(),
            turn_start: (0, 0),
            pacer,
        }
    }

    pub(super) const fn event(&self) -> E {
        self.totals.event
    }

    pub(super) const fn counter(&self) -> Counter {
        self.totals.counter
    }

    /// Writes the counter of the stopped unit, so that the counter overflows after `due` events.
    pub(super) fn load<U: CounterUnit>(&mut self, unit: &mut U) {
        let value = U::OVERFLOWS_AT.wrapping_sub(self.due);
        unit.write(self.counter(), value);
        self.count.rebase(value);
    }

    pub(super) fn add_running(&mut self, ticks: u64) {
        self.running = self.running.saturating_add(ticks);
    }

    /// Reads the counter, and adds the new events to the count.
    pub(super) fn update<U: CounterUnit>(&mut self, unit: &U) {
        self.count.update(unit.read(self.counter()));
        let past = unit.past_overflow(self.counter());
        self.due = if past < 0 { past.unsigned_abs() } else { 1 };
    }

    /// Handles an overflow of the counter, after [`update`](Self::update) and with the unit stopped. The caller then
    /// [loads](Self::load) the counter, unless the result is [`NotDue`](Overflow::NotDue).
    pub(super) fn overflow<U: CounterUnit>(&mut self, unit: &U) -> Overflow {
        let past = i64::from(unit.past_overflow(self.counter()));
        if past < -i64::from(U::MAX_EARLY) {
            return Overflow::NotDue;
        }
        let Some(pacer) = &mut self.pacer else {
            self.reload(Period::MAX, past);
            return Overflow::Counted;
        };
        let finished = u64::from(pacer.current().events());
        let late = past.max(0).unsigned_abs();
        self.totals.throttled += u64::from(pacer.next(self.running, finished + late));
        let next = pacer.current();
        let missed = self.reload(next, past);
        self.totals.missed += missed;
        self.totals.samples += 1;
        Overflow::Sampled(finished + missed * u64::from(next.events()))
    }

    /// Schedules the next overflow. The current overflow was due `past` events ago. The next overflow is due one period later. If
    /// that moment is in the past too, skips whole periods. Returns the number of skipped periods.
    fn reload(&mut self, period: Period, past: i64) -> u64 {
        let period = i64::from(period.events());
        let missed = past.max(0) / period;
        // The result is 1 to 2^31 + 15. It is at least 1, because `past` is less than `missed + 1` periods.
        self.due = ((missed + 1) * period - past) as u32;
        missed.unsigned_abs()
    }

    pub(super) fn count_lost(&mut self) {
        self.totals.lost += 1;
    }

    pub(super) const fn lost(&self) -> u64 {
        self.totals.lost
    }

    pub(super) fn end_turn(&mut self) {
        let (events, running) = self.turn_start;
        let counted = self.count.events().wrapping_sub(events);
        self.turns.add(counted, self.running - running);
        self.turn_start = (self.count.events(), self.running);
    }

    pub(super) fn report(&self, enabled: u64) -> EventReport<E> {
        let counted = self.count.events();
        EventReport {
            estimate: self.turns.estimate(counted, self.running, enabled),
            period: self.pacer.map(|pacer| pacer.current()),
            ..self.totals
        }
    }
}
