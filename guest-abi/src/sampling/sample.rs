//! Samples, and the interrupts that they come from.

use crate::register::CounterSet;
use crate::strand::StrandId;

/// Where and when an interrupt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted<M> {
    /// The address of the instruction that would have been executed next.
    pub address: u64,
    /// The strand, or processor.
    pub strand: StrandId,
    /// The time: ticks of a clock that does not go back.
    pub time: u64,
    /// The mode that was interrupted.
    pub mode: M,
}

/// One overflow of a counter that samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<E, M> {
    /// Where and when the interrupt came.
    pub at: Interrupted<M>,
    /// The event that was counted.
    pub event: E,
    /// The number of events that the sample stands for: those since the previous sample. All samples of an event together,
    /// including those that were lost, stand for its count up to the last overflow.
    pub period: u64,
}

/// The causes of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The counters that had overflowed. They have been handled.
    pub counters: CounterSet,
    /// `true` if a timer that shares the interrupt asks for it. It has not been handled.
    pub timer: bool,
}

impl Cause {
    /// Returns `true` if the interrupt had no cause.
    pub const fn is_spurious(self) -> bool {
        self.counters.is_empty() && !self.timer
    }
}
