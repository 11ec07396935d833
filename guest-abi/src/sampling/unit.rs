//! What sampling needs of a unit of counters.

use core::fmt;

use super::mode::UnitMode;
use super::program::{Period, Program};
use crate::register::{Counter, CounterSet};

/// An event that a unit can count.
pub trait UnitEvent: Copy + Eq + fmt::Debug + 'static {
    /// Returns the counters that can count the event: at least one.
    fn counters(self) -> CounterSet;

    /// Returns `true` if this counter can count the event.
    fn on(self, counter: Counter) -> bool {
        self.counters().contains(counter)
    }
}

/// Two counters of 32 bits that share an interrupt, for which each asks when it has overflowed.
///
/// A counter overflows when it reaches [`OVERFLOWS_AT`](Self::OVERFLOWS_AT). It continues to count, so it shows later how many
/// events it is past that point; it wraps from 2^32 - 1 to 0.
///
/// The interrupt is level-triggered: it is asked for as long as [`overflowed`](Self::overflowed) has a counter.
pub trait CounterUnit {
    /// The events that can be counted.
    type Event: UnitEvent;

    /// The modes that the counters distinguish.
    type Mode: UnitMode;

    /// The reason why a program is refused.
    type Refusal: Copy + fmt::Debug;

    /// The number of bits of a counter.
    const WIDTH: u32 = 32;

    /// The value of a counter that has just overflowed: 0 if it overflows when it wraps, 2^31 if its highest bit is the sign
    /// of overflow.
    const OVERFLOWS_AT: u32;

    /// The interrupt may come up to this many events before the overflow. The handler then has to write the counter:
    /// otherwise the counter asks again when those events come.
    const EARLY: u32;

    /// Returns every event that has a name.
    fn events() -> impl Iterator<Item = Self::Event>;

    /// Starts to count as the program says. The values of the counters stay, and so does an overflow that is not
    /// acknowledged.
    ///
    /// # Errors
    /// If the unit may not be used in one of these modes. It is then stopped.
    fn start(&mut self, program: &Program<Self::Event, Self::Mode>) -> Result<(), Self::Refusal>;

    /// Stops counting until the unit is started again. Counters that have overflowed still ask for the interrupt.
    fn stop(&mut self);

    /// Returns the value of a counter.
    fn read(&self, counter: Counter) -> u32;

    /// Writes a counter. The unit is stopped: if both counters are in one register, an event of the other could be lost
    /// otherwise.
    fn write(&mut self, counter: Counter, value: u32);

    /// Returns the counters that ask for the interrupt: overflowed, not acknowledged, and programmed to interrupt.
    fn overflowed(&self) -> CounterSet;

    /// Acknowledges the overflows of these counters, which ask no more until they overflow again. Their values stay, except
    /// that the highest bit is cleared if it is the sign of overflow. An overflow of another counter is not lost, even if it
    /// comes at this moment.
    fn acknowledge(&mut self, counters: CounterSet);

    /// Returns `true` if a timer that shares the interrupt asks for it.
    fn timer_pending(&self) -> bool {
        false
    }

    /// Writes a counter so that it overflows after one period.
    fn preload(&mut self, counter: Counter, period: Period) {
        self.write(counter, period.preload::<Self>());
    }

    /// Returns the number of events that a counter is past its overflow; negative if the overflow is still to come. The number
    /// is right within 2^31 events on either side.
    fn past_overflow(&self, counter: Counter) -> i32 {
        self.read(counter).wrapping_sub(Self::OVERFLOWS_AT) as i32
    }
}
