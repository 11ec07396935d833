//! Describes the instructions and branches of a cycle, and the events that they cause.

use super::event::R10000Event;

/// The kinds of instructions that the counters distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Integer multiply or divide. It graduates as two instructions.
    MultiplyDivide,
    /// Load, prefetch, SYNC or CACHE.
    Load,
    /// Store, except store conditional.
    Store,
    /// Store conditional. It is also counted as a store.
    StoreConditional {
        /// `false` if the instruction failed and stored nothing.
        stored: bool,
    },
    /// An instruction that sets bits of the FP status register (EVZOUI).
    FloatingPoint,
    /// Any other instruction, branches included.
    Other,
}

/// What happens to a branch after it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Branch {
    /// The prediction was right.
    Predicted,
    /// The prediction was wrong. The processor nullifies the instructions that it decoded after the branch.
    Mispredicted,
    /// An older branch was mispredicted, so the processor never executed this branch.
    Nullified,
}

/// The events of one cycle. Several instructions may be issued and graduate in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    counts: [u32; R10000Event::COUNT],
}

impl Cycle {
    /// Returns a cycle whose only event is the cycle itself.
    pub fn new() -> Self {
        let counts = [0; R10000Event::COUNT];
        Self { counts }.with(R10000Event::Cycles0, 1).with(R10000Event::Cycles1, 1)
    }

    /// Adds `n` occurrences of `event`. For an instruction or a branch, call one of the other functions, which adds all the events that it
    /// causes.
    #[must_use]
    pub const fn with(mut self, event: R10000Event, n: u32) -> Self {
        let count = &mut self.counts[event as usize];
        *count = count.saturating_add(n);
        self
    }

    /// Adds an instruction that is issued to a functional unit.
    #[must_use]
    pub const fn issue(self, operation: Operation) -> Self {
        let cycle = self.with(R10000Event::Issued, 1);
        match operation {
            Operation::Load => cycle.with(R10000Event::LoadsIssued, 1),
            Operation::Store => cycle.with(R10000Event::StoresIssued, 1),
            Operation::StoreConditional { .. } => {
                cycle.with(R10000Event::StoresIssued, 1).with(R10000Event::ConditionalsIssued, 1)
            }
            Operation::MultiplyDivide | Operation::FloatingPoint | Operation::Other => cycle,
        }
    }

    /// Adds an instruction that graduates: it has completed, and all older instructions have graduated.
    #[must_use]
    pub const fn graduate(self, operation: Operation) -> Self {
        let instructions = match operation {
            Operation::MultiplyDivide => 2,
            _ => 1,
        };
        let cycle = self
            .with(R10000Event::Graduated0, instructions)
            .with(R10000Event::Graduated1, instructions);
        match operation {
            Operation::Load => cycle.with(R10000Event::LoadsGraduated, 1),
            Operation::Store => cycle.with(R10000Event::StoresGraduated, 1),
            Operation::StoreConditional { stored } => cycle
                .with(R10000Event::StoresGraduated, 1)
                .with(R10000Event::ConditionalsGraduated, 1)
                .with(R10000Event::ConditionalsFailed, !stored as u32),
            Operation::FloatingPoint => cycle.with(R10000Event::FloatingPointGraduated, 1),
            Operation::MultiplyDivide | Operation::Other => cycle,
        }
    }

    /// Adds a branch that the processor decodes in this cycle.
    #[must_use]
    pub const fn decode_branch(self) -> Self {
        self.with(R10000Event::BranchesDecoded, 1)
    }

    /// Adds the outcome of a decoded branch.
    #[must_use]
    pub const fn resolve_branch(self, branch: Branch) -> Self {
        match branch {
            Branch::Mispredicted => self.with(R10000Event::BranchesMispredicted, 1),
            Branch::Predicted | Branch::Nullified => self,
        }
    }

    /// Adds a TLB miss by the program, or by the handler of another TLB miss. The miss is counted in the mode of its cycle.
    #[must_use]
    pub const fn refill_tlb(self) -> Self {
        self.with(R10000Event::TlbRefills, 1)
    }

    /// Returns the number of occurrences of `event` in this cycle. It saturates at `u32::MAX`.
    pub const fn count(&self, event: R10000Event) -> u32 {
        self.counts[event as usize]
    }
}
