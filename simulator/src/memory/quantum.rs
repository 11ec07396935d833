//! The references that a strand executes in one turn, and the result of the turn.

use guest_abi::StrandId;

use crate::recording::{Reference, References};

/// The references that a strand may execute before another strand's turn.
#[derive(Clone, Copy, Debug)]
pub struct Quantum<'a> {
    /// The strand that executes the references.
    pub strand: StrandId,
    /// The offset that is added to all addresses, a multiple of 64.
    pub offset: u64,
    /// The time of the first reference, in cycles.
    pub begins: u64,
    /// The end of the quantum: only the first instruction may begin at this time or later.
    pub until: u64,
    /// Whether the recording has no instructions. If so, each datum is executed as a separate instruction.
    pub data_alone: bool,
    /// The references, in the order of the program.
    pub references: References<'a>,
}

impl Quantum<'_> {
    /// Returns `true` if this reference begins an instruction.
    #[inline(always)]
    pub fn begins_at(&self, reference: &Reference) -> bool {
        self.data_alone || reference.kind.is_fetch()
    }

    /// Returns the quantum up to the end of its first instruction, even if that instruction began before the quantum.
    #[must_use]
    pub fn first_instruction(&self) -> Self {
        let later = self.references.iter().skip(1);
        let data = later.take_while(|later| !self.begins_at(later)).count();
        Self { references: self.references.up_to(1 + data), ..*self }
    }
}

/// The executed part of a [`Quantum`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// The number of executed references.
    pub references: usize,
    /// The time at which the last instruction was issued; 0 if all references are data of an instruction that was
    /// issued before the quantum.
    pub issued: u64,
    /// The time at which the strand can continue.
    pub ends: u64,
    /// The number of instructions that began.
    pub instructions: u64,
}
