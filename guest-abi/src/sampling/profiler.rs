//! The profiler, for the handlers of the counters' interrupt and of a timer.

use core::fmt;

use heapless::Deque;
use static_assertions::assert_impl_all;

use super::mode::ModeSet;
use super::pace::Pace;
use super::program::{Assignment, Program};
use super::sample::{Cause, Interrupted, Sample};
use super::slot::{EventReport, Overflow, Slot};
use super::strand::OwnCounters;
use super::unit::{CounterUnit, UnitEvent};
use crate::guest::{Hypercall, StrandCounters};
use crate::register::{Counter, CounterSet};

/// An event to count, and perhaps to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<E> {
    /// The event.
    pub event: E,
    /// How often to sample; `None` to count only.
    pub pace: Option<Pace>,
}

/// There are more events than turns on the counters that can count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom<E>(
    /// The first event without a place.
    pub E,
);

impl<E: fmt::Display> fmt::Display for NoRoom<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no counter and turn is left for {}", self.0)
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for NoRoom<E> {}

/// The events that are counted at the same time, by counter.
type Turn<E> = [Option<Slot<E>>; 2];

/// Counts and samples up to two times `TURNS` events on one unit, and keeps up to `SAMPLES` samples (at least 1) until they
/// are taken.
///
/// The owner calls [`handle`](Self::handle) for each interrupt of the unit, and, if there is more than one turn,
/// [`rotate`](Self::rotate) from time to time: the events then take turns on the counters, and counts are scaled. Nothing is
/// counted during these calls.
///
/// Every event that happens outside these calls is counted, in its turn, if the unit's counters are up to date when a call
/// stops them. Those of a strand are if its handlers run in a mode that is not counted; if that mode is counted too, up to 8
/// events of each counter just before the call are lost, which are the handler's own: see
/// [`StrandCounters`](crate::guest::StrandCounters).
///
/// Samples do not drift: each overflow is due one period after the one before was due, however late or early the interrupts
/// come.
#[derive(Clone, Debug)]
pub struct Profiler<U: CounterUnit, const TURNS: usize, const SAMPLES: usize> {
    turns: [Turn<U::Event>; TURNS],
    current: usize,
    modes: ModeSet<U::Mode>,
    samples: Deque<Sample<U::Event, U::Mode>, SAMPLES>,
    /// `true` from start to stop.
    counting: bool,
    /// The time up to which ticks are accounted for.
    seen: u64,
    enabled: u64,
    interrupts: u64,
    spurious: u64,
}

// A profiler can be made on one strand and used on another, whatever its unit is.
assert_impl_all!(Profiler<OwnCounters<&dyn StrandCounters, &dyn Hypercall>, 1, 1>: Send, Sync);

impl<U: CounterUnit, const TURNS: usize, const SAMPLES: usize> Profiler<U, TURNS, SAMPLES> {
    /// Returns a profiler that counts all these events in these modes. Each gets the first free turn on a counter that can
    /// count it.
    ///
    /// # Errors
    /// If no turn is left for an event.
    pub fn new(
        modes: ModeSet<U::Mode>,
        requests: &[Request<U::Event>],
    ) -> Result<Self, NoRoom<U::Event>> {
        let mut turns: [Turn<U::Event>; TURNS] = [const { [None, None] }; TURNS];
        for request in requests {
            let free = turns
                .iter_mut()
                .flat_map(|turn| Counter::ALL.iter().copied().zip(turn))
                .find(|(counter, place)| place.is_none() && request.event.on(*counter));
            let (counter, place) = free.ok_or(NoRoom(request.event))?;
            *place = Some(Slot::new(request.event, counter, request.pace));
        }
        Ok(Self {
            turns,
            current: 0,
            modes,
            samples: Deque::new(),
            counting: false,
            seen: 0,
            enabled: 0,
            interrupts: 0,
            spurious: 0,
        })
    }

    /// Starts to count, at this time.
    ///
    /// # Errors
    /// If the unit refuses.
    pub fn start(&mut self, unit: &mut U, time: u64) -> Result<(), U::Refusal> {
        unit.stop();
        unit.acknowledge(CounterSet::BOTH);
        self.seen = time;
        self.load(unit);
        unit.start(&self.program())?;
        self.counting = true;
        Ok(())
    }

    /// Handles an interrupt of the unit: takes samples for the counters that have overflowed, and continues to count.
    ///
    /// # Errors
    /// If the unit refuses to continue. What was counted until now is kept.
    pub fn handle(&mut self, unit: &mut U, at: &Interrupted<U::Mode>) -> Result<Cause, U::Refusal> {
        self.interrupts += 1;
        let cause = self.collect(unit, at);
        self.spurious += u64::from(cause.is_spurious());
        self.resume(unit)?;
        Ok(cause)
    }

    /// Begins the turn of the next events. An overflow whose interrupt has not come yet is handled; the interrupt may still
    /// come, and is then spurious.
    ///
    /// # Errors
    /// If the unit refuses to continue. What was counted until now is kept.
    pub fn rotate(&mut self, unit: &mut U, at: &Interrupted<U::Mode>) -> Result<Cause, U::Refusal> {
        let cause = self.collect(unit, at);
        self.end_turn();
        let used = self.turns.iter().filter(|turn| occupied(turn)).count();
        self.current = (self.current + 1) % used.max(1);
        self.load(unit);
        self.resume(unit)?;
        Ok(cause)
    }

    /// Stops counting. An overflow whose interrupt has not come yet is handled. The profiler can be started again.
    pub fn stop(&mut self, unit: &mut U, at: &Interrupted<U::Mode>) -> Cause {
        let cause = self.collect(unit, at);
        if self.counting {
            self.end_turn();
        }
        self.counting = false;
        cause
    }

    /// Takes the oldest sample; `None` if none is kept.
    pub fn pop(&mut self) -> Option<Sample<U::Event, U::Mode>> {
        self.samples.pop_front()
    }

    /// Returns the number of samples that are kept.
    pub fn waiting(&self) -> usize {
        self.samples.len()
    }

    /// Returns a report on each event, as of the last interrupt, rotation or stop.
    pub fn events(&self) -> impl Iterator<Item = EventReport<U::Event>> {
        self.turns
            .iter()
            .flatten()
            .flatten()
            .map(|slot| slot.report(self.enabled))
    }

    /// Returns the number of interrupts.
    pub const fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// Returns the number of spurious interrupts: no counter had overflowed, and no timer asked for one.
    pub const fn spurious(&self) -> u64 {
        self.spurious
    }

    /// Returns the number of samples that were lost because there was no room for them.
    pub fn lost(&self) -> u64 {
        self.turns.iter().flatten().flatten().map(Slot::lost).sum()
    }

    /// Returns the program for the events of this turn.
    fn program(&self) -> Program<U::Event, U::Mode> {
        let [pic0, pic1] = match self.turns.get(self.current) {
            Some(turn) => turn.each_ref().map(|slot| slot.as_ref().map(Slot::event)),
            None => [None, None],
        };
        let events = Assignment::new(pic0, pic1).unwrap_or(Assignment::NONE);
        Program {
            events,
            modes: self.modes,
            interrupts: events.counters(),
        }
    }

    /// Loads the counters, so that the events of this turn continue where they were when their last turn ended.
    fn load(&mut self, unit: &mut U) {
        slots(&mut self.turns, self.current).for_each(|slot| slot.load(unit));
    }

    fn resume(&mut self, unit: &mut U) -> Result<(), U::Refusal> {
        if self.counting {
            let started = unit.start(&self.program());
            self.counting = started.is_ok();
            started?;
        }
        Ok(())
    }

    fn end_turn(&mut self) {
        slots(&mut self.turns, self.current).for_each(Slot::end_turn);
    }

    /// Stops the unit, takes the values of its counters, and handles those that have overflowed.
    fn collect(&mut self, unit: &mut U, at: &Interrupted<U::Mode>) -> Cause {
        unit.stop();
        let asking = unit.overflowed();
        let mut cause = Cause {
            counters: CounterSet::NONE,
            timer: unit.timer_pending(),
        };
        if self.counting {
            let ticks = self.pass(at.time);
            for slot in slots(&mut self.turns, self.current) {
                slot.pass(ticks);
                slot.update(unit);
                if !asking.contains(slot.counter()) {
                    continue;
                }
                match slot.overflow(unit) {
                    Overflow::NotDue => continue,
                    Overflow::Counted => {}
                    Overflow::Sampled(period) => {
                        let sample = Sample {
                            at: *at,
                            event: slot.event(),
                            period,
                        };
                        if self.samples.push_back(sample).is_err() {
                            slot.lose();
                        }
                    }
                }
                cause.counters = cause.counters | slot.counter().into();
            }
        }
        unit.acknowledge(asking);
        slots(&mut self.turns, self.current)
            .filter(|slot| cause.counters.contains(slot.counter()))
            .for_each(|slot| slot.load(unit));
        cause
    }

    /// Accounts for the time up to `now`. Returns how many ticks that is.
    fn pass(&mut self, now: u64) -> u64 {
        let ticks = now.saturating_sub(self.seen);
        self.seen = self.seen.saturating_add(ticks);
        self.enabled = self.enabled.saturating_add(ticks);
        ticks
    }
}

/// Returns the events whose turn it is.
fn slots<E>(turns: &mut [Turn<E>], current: usize) -> impl Iterator<Item = &mut Slot<E>> {
    turns.get_mut(current).into_iter().flatten().flatten()
}

fn occupied<E>(turn: &Turn<E>) -> bool {
    turn.iter().any(Option::is_some)
}
