//! The references that a strand executes in one turn, and the result of the turn.

use guest_abi::StrandId;

use crate::recording::{CodeImage, Reference, References};

/// The references that a strand may execute before the next strand's turn.
#[derive(Clone, Copy, Debug)]
pub struct Quantum<'a> {
    /// The strand that executes the references.
    pub strand: StrandId,
    /// The offset that is added to all addresses. It is a multiple of 64.
    pub offset: u64,
    /// The code that the instructions belong to.
    pub image: CodeImage,
    /// The time of the first reference, in cycles.
    pub begins: u64,
    /// The end of the quantum. No instruction except the first may begin at this time or later.
    pub until: u64,
    /// Whether the recording has no instructions. Each datum is then executed as an instruction of its own.
    pub data_alone: bool,
    /// The references, in program order.
    pub references: References<'a>,
}

impl Quantum<'_> {
    /// Returns `true` if this reference begins an instruction.
    #[inline(always)]
    pub fn begins_at(&self, reference: &Reference) -> bool {
        self.data_alone || reference.kind.is_fetch()
    }

    /// Returns the part of the quantum up to the end of its first instruction, even if that instruction began before the quantum.
    #[must_use]
    pub fn first_instruction(&self) -> Self {
        let later = self.references.iter().skip(1);
        let data = later.take_while(|later| !self.begins_at(later)).count();
        Self { references: self.references.up_to(1 + data), ..*self }
    }
}

/// What was executed of a [`Quantum`], which may be only a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// The number of references that were executed.
    pub references: usize,
    /// The time at which the last instruction was issued; 0 if all references are data of an instruction that was issued before
    /// the quantum.
    pub issued: u64,
    /// The time at which the strand can continue, in cycles.
    pub ends: u64,
    /// The number of instructions that began.
    pub instructions: u64,
}

/// The part of a quantum that a strand has executed without using anything outside its core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutedAhead {
    pub(crate) executed: Executed,
    /// Whether the strand's next reference needs something outside the core.
    pub(crate) blocked: bool,
}
