//! A unit of two counters, as a profiler uses it.

use super::mode::UnitMode;
use super::period::Period;
use super::program::{Program, UnitEvent};
use crate::counter::{Counter, CounterSet};

/// Two 32-bit counters that share an overflow interrupt.
///
/// A counter overflows when it reaches [`OVERFLOWS_AT`](Self::OVERFLOWS_AT). The counter then keeps counting, so its value shows the number
/// of events since the overflow. The counter wraps from 2^32 - 1 to 0.
///
/// The interrupt is level-triggered: it is pending while [`overflowed`](Self::overflowed) returns at least one counter.
pub trait CounterUnit {
    /// The type of an event that the counters can count, such as a cache miss.
    type Event: UnitEvent;

    /// The modes that the counters distinguish.
    type Mode: UnitMode;

    /// The reason why the unit refuses a program.
    type Refusal: Copy + core::error::Error;

    /// A counter's width in bits. [`Profiler`](super::Profiler) relies on 32.
    const WIDTH: u32 = 32;

    /// The value at which a counter overflows: 0 if it overflows when it wraps, 2^31 if it overflows when its highest bit becomes 1.
    const OVERFLOWS_AT: u32;

    /// The maximum number of events by which the interrupt can be early. After an early interrupt,
    /// the handler has to write the counter; otherwise the overflow interrupts again.
    const MAX_EARLY: u32;

    /// Returns all events that have a name.
    fn events() -> impl Iterator<Item = Self::Event>;

    /// Starts the counters with the events and the modes of `program`. Keeps the counters' values, and keeps overflows that are not
    /// acknowledged yet. If the unit is not allowed to count in one of the modes, stops the unit and fails.
    fn start(&mut self, program: &Program<Self::Event, Self::Mode>) -> Result<(), Self::Refusal>;

    /// Stops counting until the next [`start`](Self::start). The interrupt of a counter that has overflowed stays pending.
    fn stop(&mut self);

    /// Returns the current value of a counter. The counter may be running or stopped.
    fn read(&self, counter: Counter) -> u32;

    /// Writes a counter of a stopped unit. (If both counters are in one register, a write while they count could lose an event of
    /// the other counter.)
    fn write(&mut self, counter: Counter, value: u32);

    /// Returns the counters whose interrupt is pending. Such a counter has overflowed, is not
    /// acknowledged, and is programmed to interrupt.
    fn overflowed(&self) -> CounterSet;

    /// Acknowledges the overflows of `counters`: each of these counters interrupts again only when it overflows again. Keeps the counters'
    /// values, with one exception: in a unit whose counters overflow when their highest bit becomes 1, the acknowledgement may change this
    /// bit. If a counter that is not in `counters` overflows at the same time, its overflow is not lost.
    fn acknowledge(&mut self, counters: CounterSet);

    /// Returns `true` if a timer that shares the interrupt is requesting it.
    fn timer_pending(&self) -> bool {
        false
    }

    /// Writes a counter so that it overflows after one period.
    fn preload(&mut self, counter: Counter, period: Period) {
        self.write(counter, Self::OVERFLOWS_AT.wrapping_sub(period.events()));
    }

    /// Returns the number of events since the overflow of a counter; negative before the overflow.
    /// The number is right if the overflow is fewer than 2^31 events away.
    fn past_overflow(&self, counter: Counter) -> i32 {
        self.read(counter).wrapping_sub(Self::OVERFLOWS_AT) as i32
    }
}
