//! Processors that execute recorded instructions, and what really happened.

use std::collections::HashMap;

use super::error::ProfileError;
use super::stacks::{Point, StackId};
use crate::memory::{Executed, Quantum};

/// Processors that execute recorded instructions and have counters.
pub(crate) trait Processor {
    /// Executes an instruction: its fetch, its loads and its stores. Lets guests handle pending interrupts. Adds the events to `truth`
    /// without using the counters. `stack` is the instruction's call stack. If a recording starts with a data access, its first
    /// instruction has no fetch.
    fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError>;

    /// At the end of the program, completes pending instructions and stops the counters. `now` is the scheduler's time. Returns the total
    /// number of cycles.
    fn finish(&mut self, now: u64, truth: &mut Truth) -> Result<u64, ProfileError>;
}

/// How often one event really happened, by instruction and call stack.
pub(crate) type ExactCounts = HashMap<Point, u64>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    pub(crate) instructions: u64,
    /// The number of replayed references, including fetches.
    pub(crate) references: u64,
    pub(crate) cycles: u64,
    /// The time after the latest reference. It is up to date only if cycles are sampled.
    pub(crate) now: u64,
    /// Whether the observer stopped the program.
    pub(crate) stopped: bool,
    /// Each sampled event's true counts.
    pub(crate) exact: Vec<ExactCounts>,
}

impl Truth {
    /// Adds `n` occurrences of the sampled event with index `event`, which the instruction `at` caused.
    pub(crate) fn add(&mut self, event: usize, at: Point, n: u64) {
        if n > 0 {
            *self.exact[event].entry(at).or_default() += n;
        }
    }
}
