//! Samples, and the interrupts that cause them.

use crate::counter::CounterSet;
use crate::strand::StrandId;

/// The place and time of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InterruptPoint<M> {
    /// The address of the next instruction of the interrupted code.
    pub address: u64,
    /// The strand (or other processor) that was interrupted.
    pub strand: StrandId,
    /// The time, in ticks of a clock that never goes backwards, such as %stick.
    pub time: u64,
    /// The mode of the interrupted code.
    pub mode: M,
}

/// A sample: the overflow of a counter whose event is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Sample<E, M> {
    /// The place and time of the interrupt.
    pub at: InterruptPoint<M>,
    /// The event whose counter overflowed.
    pub event: E,
    /// The number of events since the previous sample. The periods of an event's samples, lost ones included, add up to the event's
    /// count at the last overflow.
    pub period: u64,
}

/// The sources of an interrupt that the profiler has handled: counters, a timer, both or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// The counters that had overflowed. The profiler has handled them.
    pub counters: CounterSet,
    /// `true` if the timer that shares the counters' interrupt requested it. The caller handles the timer.
    pub timer: bool,
}

impl Cause {
    /// Returns `true` if neither a counter nor the timer caused the interrupt.
    pub const fn is_spurious(self) -> bool {
        self.counters.is_empty() && !self.timer
    }
}
