//! The trait: what sampling needs of a unit of counters.

use core::fmt;

use super::mode::UnitMode;
use super::program::{Period, Program};
use crate::register::{Counter, CounterSet};

/// An event that a unit can count.
pub trait UnitEvent: Copy + Eq + fmt::Debug + 'static {
    /// The counters that can count it: at least one.
    fn counters(self) -> CounterSet;

    /// Whether this counter can count it.
    fn on(self, counter: Counter) -> bool {
        self.counters().contains(counter)
    }
}

/// Two counters of 32 bits, each of which asks for one shared interrupt when it has overflowed.
///
/// A counter overflows when it reaches [`OVERFLOWS_AT`](Self::OVERFLOWS_AT). It counts on, interrupted or not, so it
/// shows later by how many events it is past that point; and it wraps from 2^32 - 1 to 0.
///
/// The interrupt is a level: it is asked for as long as [`overflowed`](Self::overflowed) names a counter.
pub trait CounterUnit {
    /// What can be counted.
    type Event: UnitEvent;

    /// What the counters tell apart.
    type Mode: UnitMode;

    /// Why a program may be refused.
    type Refusal: Copy + fmt::Debug;

    /// The bits of a counter.
    const WIDTH: u32 = 32;

    /// What a counter holds when it has just overflowed: 0 if it does when it wraps, 2^31 if its highest bit says so.
    const OVERFLOWS_AT: u32;

    /// The interrupt may be asked for while so many events are still missing. The counter has to be written then:
    /// otherwise it asks again when they come.
    const EARLY: u32;

    /// Every event that has a name.
    fn events() -> impl Iterator<Item = Self::Event>;

    /// Counts as the program says from now on. What the counters hold stays, and so does an overflow that is not
    /// acknowledged.
    ///
    /// # Errors
    /// If the unit may not be used in one of these modes. It is stopped then.
    fn start(&mut self, program: &Program<Self::Event, Self::Mode>) -> Result<(), Self::Refusal>;

    /// Counts nothing until it is started again. Counters that have overflowed go on asking.
    fn stop(&mut self);

    /// What a counter holds.
    fn read(&self, counter: Counter) -> u32;

    /// Writes a counter, while it is stopped: a unit that has both in one register could lose an event of the other.
    fn write(&mut self, counter: Counter, value: u32);

    /// The counters that ask for the interrupt: overflowed, not acknowledged, and programmed to interrupt.
    fn overflowed(&self) -> CounterSet;

    /// These counters ask no more until they overflow again. What they hold stays, except that the highest bit is
    /// cleared where it is what asks. An overflow of another counter is not lost, even if it comes at this moment.
    fn acknowledge(&mut self, counters: CounterSet);

    /// Whether a timer that shares the interrupt asks for it.
    fn timer_pending(&self) -> bool {
        false
    }

    /// Writes a counter so that it overflows after one period.
    fn preload(&mut self, counter: Counter, period: Period) {
        self.write(counter, period.preload::<Self>());
    }

    /// How many events a counter is past its overflow; negative if they are still to come. Right within 2^31 events
    /// on either side.
    fn past_overflow(&self, counter: Counter) -> i32 {
        self.read(counter).wrapping_sub(Self::OVERFLOWS_AT) as i32
    }
}
