use super::true_counts::Happened;
use crate::analysis::profile::stacks::{Point, StackId};
use crate::recording::{Class, Flow, Kind, Reference};

/// The pipeline stage that an instruction has reached, and the cycle in which it did so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The instruction is waiting to be decoded.
    Fetched,
    /// The instruction was decoded in this cycle, and has been in the active list since then.
    Decoded(u64),
    /// The instruction was issued. Its result is available from this cycle on.
    Issued(u64),
}

#[derive(Clone, Debug)]
pub(super) struct ActiveInstruction {
    pub(super) fetch: Reference,
    pub(super) stack: StackId,
    /// The index of the instruction's first reference, and how many references the instruction has, including the
    /// fetch.
    pub(super) references: (u64, usize),
    pub(super) stage: Stage,
    /// The time at which the fetched line arrives; `None` before the fetch.
    pub(super) fetched: Option<u64>,
    /// The time at which the data arrive; `None` before the access.
    pub(super) accessed: Option<u64>,
    /// The address that an atomic instruction has loaded and will store.
    pub(super) linked: Option<u64>,
    /// Whether the store conditional of this atomic instruction has failed.
    pub(super) failed: bool,
    /// Whether this branch was mispredicted when it was last decoded.
    pub(super) mispredicted: bool,
    /// The address of the fetch or access that missed the TLB; `None` if all addresses were translated.
    pub(super) untranslated: Option<u64>,
    /// The events of the instruction in user mode.
    pub(super) happened: Happened,
    /// The events of the handler for this instruction's TLB misses, in exception mode.
    pub(super) handled: Happened,
}

impl ActiveInstruction {
    pub(super) fn at(&self) -> Point {
        Point { stack: self.stack, address: self.fetch.address }
    }

    pub(super) fn is_conditional(&self) -> bool {
        matches!(self.fetch.flow, Flow::Taken | Flow::NotTaken)
    }

    /// Returns whether this branch annuls its delay slot, which is decoded and nullified.
    pub(super) fn annuls(&self) -> bool {
        self.fetch.class == Class::Annuls && self.fetch.flow != Flow::Taken
    }

    pub(super) fn is_branch(&self) -> bool {
        !matches!(self.fetch.flow, Flow::Next | Flow::Trap)
    }

    pub(super) fn uses_memory(&self) -> bool {
        self.fetch.kind != Kind::FetchOther
    }

    /// Returns whether the instruction issues to a functional unit. Jumps and traps do not issue.
    pub(super) fn issues(&self) -> bool {
        self.uses_memory() || self.is_conditional() || self.fetch.flow == Flow::Next
    }
}
