//! An instruction in the pipeline.

use super::happened::Happened;
use crate::profile::stacks::{Point, StackId};
use crate::recording::{Flow, Kind, Reference};

/// How far an instruction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is not decoded.
    Fetched,
    /// It is in the active list since this cycle.
    Decoded(u64),
    /// It has issued, and its result is there in this cycle.
    Issued(u64),
}

/// An instruction that has not graduated.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub(super) fetch: Reference,
    /// The call stack.
    pub(super) stack: StackId,
    /// Where its references begin, and how many they are, the fetch included.
    pub(super) references: (u64, usize),
    pub(super) progress: Progress,
    /// When the fetched line is there; `None` before the fetch.
    pub(super) fetched: Option<u64>,
    /// When the data are there; `None` before the access.
    pub(super) accessed: Option<u64>,
    /// Whether it is a branch that was predicted wrong when it was decoded last.
    pub(super) mispredicted: bool,
    /// The address that it fetches or accesses and that the TLB does not translate.
    pub(super) untranslated: Option<u64>,
    pub(super) happened: Happened,
}

impl Instruction {
    pub(super) fn at(&self) -> Point {
        Point {
            stack: self.stack,
            address: self.fetch.address,
        }
    }

    pub(super) fn is_conditional(&self) -> bool {
        matches!(self.fetch.flow, Flow::Taken | Flow::NotTaken)
    }

    pub(super) fn is_branch(&self) -> bool {
        !matches!(self.fetch.flow, Flow::Next | Flow::Trap)
    }

    pub(super) fn uses_memory(&self) -> bool {
        self.fetch.kind != Kind::FetchOther
    }

    /// Returns `true` if a functional unit executes it. Jumps and traps need none.
    pub(super) fn issues(&self) -> bool {
        self.uses_memory() || self.is_conditional() || self.fetch.flow == Flow::Next
    }
}
