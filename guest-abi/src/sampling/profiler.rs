//! The profiler. The profiler's owner calls it from two interrupt handlers: the counters' handler and a timer's handler.

use core::fmt;

use heapless::Deque;
use static_assertions::assert_impl_all;

use super::mode::ModeSet;
use super::pace::Pace;
use super::program::{Assignment, Program, UnitEvent};
use super::sample::{Cause, InterruptPoint, Sample};
use super::slot::{EventReport, Overflow, Slot};
use super::strand::OwnCounters;
use super::unit::CounterUnit;
use crate::counter::{Counter, CounterSet};
use crate::guest::{Hypercall, StrandCounters};

/// An event to count, with or without samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request<E> {
    /// The event; at least one counter must be able to count it.
    pub event: E,
    /// The pace of the samples; `None` to count only.
    pub pace: Option<Pace>,
}

/// The error when the requested events need more turns than the profiler has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoRoom<E>(
    /// The first event for which no counter has a free turn.
    pub E,
);

impl<E: fmt::Display> fmt::Display for NoRoom<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no counter and turn is left for {}", self.0)
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for NoRoom<E> {}

/// The events that are counted at the same time: at most one on each of the two counters.
type Turn<E> = [Option<Slot<E>>; 2];

/// Counts and samples up to `2 * TURNS` events with the two counters of one unit. Holds up to `SAMPLES` samples (at least 1) until
/// [`pop`](Self::pop) removes them.
///
/// The events are divided into turns of at most two events, one for each counter. Only the events of the current turn are counted. The
/// owner calls [`handle`](Self::handle) for each interrupt of the unit. If there is more than one turn, the owner also calls
/// [`rotate`](Self::rotate) from time to time, which begins the next turn. Reports then scale each count to the whole time.
///
/// Each call stops the counters while it works. Between calls, the profiler misses no event of the current turn if the counters of the
/// unit lose no earlier events when they stop. A strand's counters lose none if the strand's handlers run in a mode that is not
/// counted. Otherwise each call loses up to 8 of the handler's own events for each counter: see [`StrandCounters`].
///
/// Late interrupts do not delay later samples: each overflow is due one period after the previous overflow was due.
#[derive(Clone, Debug)]
#[must_use]
pub struct Profiler<U: CounterUnit, const TURNS: usize, const SAMPLES: usize> {
    turns: [Turn<U::Event>; TURNS],
    current: usize,
    modes: ModeSet<U::Mode>,
    samples: Deque<Sample<U::Event, U::Mode>, SAMPLES>,
    counting: bool,
    /// The time at which `enabled` was last updated.
    updated_at: u64,
    enabled: u64,
    interrupts: u64,
    spurious: u64,
}

// A profiler of any unit may move between strands.
assert_impl_all!(Profiler<OwnCounters<&dyn StrandCounters, &dyn Hypercall>, 1, 1>: Send, Sync);

impl<U: CounterUnit, const TURNS: usize, const SAMPLES: usize> Profiler<U, TURNS, SAMPLES> {
    /// Returns a profiler that counts the events of `requests` in `modes`. Each event gets the first free turn on a counter that
    /// can count it. Fails if an event finds no free turn.
    pub fn new(
        modes: ModeSet<U::Mode>,
        requests: &[Request<U::Event>],
    ) -> Result<Self, NoRoom<U::Event>> {
        let mut turns: [Turn<U::Event>; TURNS] = [const { [None, None] }; TURNS];
        for request in requests {
            let free = turns
                .iter_mut()
                .flat_map(|turn| Counter::ALL.iter().copied().zip(turn))
                .find(|(counter, place)| place.is_none() && request.event.can_use(*counter));
            let (counter, place) = free.ok_or(NoRoom(request.event))?;
            *place = Some(Slot::new(request.event, counter, request.pace));
        }
        Ok(Self {
            turns,
            current: 0,
            modes,
            samples: Deque::new(),
            counting: false,
            updated_at: 0,
            enabled: 0,
            interrupts: 0,
            spurious: 0,
        })
    }

    /// Starts counting. `time` is the current time in ticks of the clock that [`InterruptPoint::time`] uses, such as %stick. Intervals of a
    /// [`Pace`] are in these ticks, too. Fails if the unit refuses the program.
    pub fn start(&mut self, unit: &mut U, time: u64) -> Result<(), U::Refusal> {
        unit.stop();
        unit.acknowledge(CounterSet::BOTH);
        self.updated_at = time;
        self.load(unit);
        unit.start(&self.program())?;
        self.counting = true;
        Ok(())
    }

    /// Handles an interrupt of the unit: takes a sample for each counter that has overflowed, and continues counting.
    ///
    /// # Errors
    /// Fails if the unit refuses to continue. Counts and samples remain.
    pub fn handle(
        &mut self,
        unit: &mut U,
        at: &InterruptPoint<U::Mode>,
    ) -> Result<Cause, U::Refusal> {
        self.interrupts += 1;
        let cause = self.collect(unit, at);
        self.spurious += u64::from(cause.is_spurious());
        self.resume(unit)?;
        Ok(cause)
    }

    /// Begins the next events' turn. Handles pending overflows, so the interrupts that these overflows cause later are spurious.
    ///
    /// # Errors
    /// Fails if the unit refuses to continue. Counts and samples remain.
    pub fn rotate(
        &mut self,
        unit: &mut U,
        at: &InterruptPoint<U::Mode>,
    ) -> Result<Cause, U::Refusal> {
        let cause = self.collect(unit, at);
        self.end_turn();
        let occupied = |turn: &&Turn<_>| turn.iter().any(Option::is_some);
        let used = self.turns.iter().filter(occupied).count();
        self.current = (self.current + 1) % used.max(1);
        self.load(unit);
        self.resume(unit)?;
        Ok(cause)
    }

    /// Stops counting until the next [`start`](Self::start). Handles overflows with pending
    /// interrupts.
    pub fn stop(&mut self, unit: &mut U, at: &InterruptPoint<U::Mode>) -> Cause {
        let cause = self.collect(unit, at);
        if self.counting {
            self.end_turn();
        }
        self.counting = false;
        cause
    }

    /// Removes the oldest sample and returns it; `None` if there is no sample.
    pub fn pop(&mut self) -> Option<Sample<U::Event, U::Mode>> {
        self.samples.pop_front()
    }

    /// Returns the number of samples that [`pop`](Self::pop) can still return.
    pub fn waiting(&self) -> usize {
        self.samples.len()
    }

    /// Returns a report on each event, as of the last interrupt, rotation or stop. Reports are in the order of turns, counter 0 first.
    pub fn events(&self) -> impl Iterator<Item = EventReport<U::Event>> {
        self.turns.iter().flatten().flatten().map(|slot| slot.report(self.enabled))
    }

    /// Returns the number of handled interrupts, spurious ones included.
    pub const fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// Returns the number of spurious interrupts, which neither a counter nor a timer requested.
    pub const fn spurious(&self) -> u64 {
        self.spurious
    }

    /// Returns the number of samples that were lost because there was no room.
    pub fn lost(&self) -> u64 {
        self.turns.iter().flatten().flatten().map(Slot::lost).sum()
    }

    fn program(&self) -> Program<U::Event, U::Mode> {
        let [pic0, pic1] = match self.turns.get(self.current) {
            Some(turn) => turn.each_ref().map(|slot| slot.as_ref().map(Slot::event)),
            None => [None, None],
        };
        let events = Assignment::new(pic0, pic1).unwrap_or(Assignment::NONE);
        Program { events, modes: self.modes, interrupts: events.counters() }
    }

    /// Loads the counters for this turn's events. Each event continues where its last turn ended.
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

    /// Stops the unit, reads its counters, and handles their overflows.
    fn collect(&mut self, unit: &mut U, at: &InterruptPoint<U::Mode>) -> Cause {
        unit.stop();
        let pending = unit.overflowed();
        let mut cause = Cause { counters: CounterSet::NONE, timer: unit.timer_pending() };
        if self.counting {
            let ticks = self.advance_to(at.time);
            for slot in slots(&mut self.turns, self.current) {
                slot.add_running(ticks);
                slot.update(unit);
                if !pending.contains(slot.counter()) {
                    continue;
                }
                match slot.overflow(unit) {
                    Overflow::NotDue => continue,
                    Overflow::Counted => {}
                    Overflow::Sampled(period) => {
                        let sample = Sample { at: *at, event: slot.event(), period };
                        if self.samples.push_back(sample).is_err() {
                            slot.count_lost();
                        }
                    }
                }
                cause.counters = cause.counters | slot.counter().into();
            }
        }
        unit.acknowledge(pending);
        slots(&mut self.turns, self.current)
            .filter(|slot| cause.counters.contains(slot.counter()))
            .for_each(|slot| slot.load(unit));
        cause
    }

    /// Adds the time up to `now` to `enabled`. Returns the number of ticks since the last call.
    fn advance_to(&mut self, now: u64) -> u64 {
        let ticks = now.saturating_sub(self.updated_at);
        self.updated_at = self.updated_at.saturating_add(ticks);
        self.enabled = self.enabled.saturating_add(ticks);
        ticks
    }
}

fn slots<E>(turns: &mut [Turn<E>], current: usize) -> impl Iterator<Item = &mut Slot<E>> {
    turns.get_mut(current).into_iter().flatten().flatten()
}
