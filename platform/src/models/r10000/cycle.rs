//! What happens in one cycle, and which events that makes.

use super::event::R10000Event;

/// What an instruction does, as far as the counters tell instructions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Integer multiply or divide. It graduates as two instructions.
    MultiplyDivide,
    /// Load, prefetch, SYNC or CACHE.
    Load,
    /// Store, not conditional.
    Store,
    /// Store conditional: a store too.
    StoreConditional {
        /// Whether it stored.
        stored: bool,
    },
    /// Sets bits of the FP status register (EVZOUI).
    FloatingPoint,
    /// Anything else, branches included.
    Other,
}

/// How a decoded branch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Branch {
    /// It was predicted right.
    Predicted,
    /// It was mispredicted. What was decoded after it is nullified.
    Mispredicted,
    /// An older branch was mispredicted: this one was never executed, whatever its own prediction.
    Nullified,
}

/// What happens in one cycle. Several instructions may be issued, and graduate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    counts: [u32; R10000Event::COUNT],
}

impl Cycle {
    /// A cycle in which nothing happens, but that it passes.
    pub fn new() -> Self {
        let counts = [0; R10000Event::COUNT];
        Self { counts }
            .and(R10000Event::Cycles0, 1)
            .and(R10000Event::Cycles1, 1)
    }

    /// An event happens `n` times more. Those of instructions and branches follow from the functions below.
    #[must_use]
    pub const fn and(mut self, event: R10000Event, n: u32) -> Self {
        let count = &mut self.counts[event as usize];
        *count = count.saturating_add(n);
        self
    }

    /// An instruction is issued to a functional unit.
    #[must_use]
    pub const fn issue(self, operation: Operation) -> Self {
        let cycle = self.and(R10000Event::Issued, 1);
        match operation {
            Operation::Load => cycle.and(R10000Event::LoadsIssued, 1),
            Operation::Store => cycle.and(R10000Event::StoresIssued, 1),
            Operation::StoreConditional { .. } => cycle
                .and(R10000Event::StoresIssued, 1)
                .and(R10000Event::ConditionalsIssued, 1),
            Operation::MultiplyDivide | Operation::FloatingPoint | Operation::Other => cycle,
        }
    }

    /// An instruction graduates: it is done, and the oldest.
    #[must_use]
    pub const fn graduate(self, operation: Operation) -> Self {
        let instructions = match operation {
            Operation::MultiplyDivide => 2,
            _ => 1,
        };
        let cycle = self
            .and(R10000Event::Graduated0, instructions)
            .and(R10000Event::Graduated1, instructions);
        match operation {
            Operation::Load => cycle.and(R10000Event::LoadsGraduated, 1),
            Operation::Store => cycle.and(R10000Event::StoresGraduated, 1),
            Operation::StoreConditional { stored } => cycle
                .and(R10000Event::StoresGraduated, 1)
                .and(R10000Event::ConditionalsGraduated, 1)
                .and(R10000Event::ConditionalsFailed, !stored as u32),
            Operation::FloatingPoint => cycle.and(R10000Event::FloatingPointGraduated, 1),
            Operation::MultiplyDivide | Operation::Other => cycle,
        }
    }

    /// A branch is decoded.
    #[must_use]
    pub const fn decode_branch(self) -> Self {
        self.and(R10000Event::BranchesDecoded, 1)
    }

    /// A decoded branch comes to its end.
    #[must_use]
    pub const fn resolve_branch(self, branch: Branch) -> Self {
        match branch {
            Branch::Mispredicted => self.and(R10000Event::BranchesMispredicted, 1),
            Branch::Predicted | Branch::Nullified => self,
        }
    }

    /// A TLB miss: a new one, or one within the handler of another. It is counted in the mode of its cycle.
    #[must_use]
    pub const fn refill_tlb(self) -> Self {
        self.and(R10000Event::TlbRefills, 1)
    }

    /// How often an event happens.
    pub const fn count(&self, event: R10000Event) -> u32 {
        self.counts[event as usize]
    }
}

impl Default for Cycle {
    fn default() -> Self {
        Self::new()
    }
}
