//! An execution's limits, and why an execution stops.

use guest_abi::StrandId;

use super::Observed;
use crate::interpreter::ErrorState;
use crate::memory::Stray;

/// The limits at which [`Execution::run`](super::Execution::run) stops, unless something else stops it earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum total number of all strands' instructions and traps.
    pub instructions: u64,
    /// The time at which the execution stops, in cycles since the machine started. No instruction begins at this time or later.
    pub cycles: u64,
}

impl Limits {
    /// No limits: the machine executes until something else stops it.
    pub const NONE: Self = Self { instructions: u64::MAX, cycles: u64::MAX };

    /// Returns a limit on the total number of all strands' instructions.
    #[must_use]
    pub const fn instructions(instructions: u64) -> Self {
        Self { instructions, ..Self::NONE }
    }
}

/// Why an execution has stopped. A stop does not influence what the machine does afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run has reached one of its limits.
    Limit,
    /// Every strand is parked or halted, and nothing can wake a halted strand.
    Ended,
    /// The hypervisor has switched the machine off.
    Off,
    /// A strand has trapped at its highest trap level, and executes nothing more.
    #[allow(missing_docs, reason = "the names say it")]
    ErrorState { strand: StrandId, state: ErrorState },
    /// The next instruction of this strand is at a breakpoint.
    Breakpoint(StrandId),
    /// An instruction has performed this access, which is [watched](super::Execution::watch).
    Watched(Observed),
    /// The memory system counted an event in a place where this event cannot happen. The simulator has a bug, and its counts
    /// are invalid.
    Stray(Stray),
}
