//! What an interrupt tells, and what is kept of it.

use crate::register::CounterSet;
use crate::strand::StrandId;

/// Where an interrupt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted<M> {
    /// The instruction that would have been executed next.
    pub address: u64,
    /// The strand, or processor.
    pub strand: StrandId,
    /// When: ticks of a clock that does not go back.
    pub time: u64,
    /// The mode that was interrupted.
    pub mode: M,
}

/// One overflow of a counter that samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<E, M> {
    /// Where the interrupt came.
    pub at: Interrupted<M>,
    /// What was counted.
    pub event: E,
    /// How many events the sample stands for: those since the sample before. All samples of an event together,
    /// including the lost ones, stand for its count up to the last overflow.
    pub period: u64,
}

/// What an interrupt was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The counters that had overflowed. They have been dealt with.
    pub counters: CounterSet,
    /// Whether a timer that shares the interrupt asks for it. It still does.
    pub timer: bool,
}

impl Cause {
    /// Whether it was for nothing.
    pub const fn is_spurious(self) -> bool {
        self.counters.is_empty() && !self.timer
    }
}
