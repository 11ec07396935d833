//! Hypervisor images to check, what they omit on purpose, and why a check can be impossible.

use std::ops::Range;

use serde::Serialize;

use crate::execute::{Interfaces, NoMemoryAt, SetupError, Stop};
use crate::machine::description::BuildError;

/// A hypervisor image, as it is before it is loaded into the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Each segment's physical address and bytes.
    pub segments: Vec<(u64, Vec<u8>)>,
    /// The range of addresses that contains the instructions.
    pub text: Range<u64>,
    /// The interfaces that the image has, such as the mailbox and the log.
    pub interfaces: Interfaces,
}

/// A part of the contract that an image may omit on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Omission {
    /// Version 1.1 of group 0x205. A guest that asks for 1.1 gets 1.0.
    #[serde(rename = "1.1")]
    Minor1,
    /// The registers of hubs, 18 to 89. Calls for them return ENOTSUPPORTED.
    #[serde(rename = "hubs")]
    Hubs,
    /// Register 1, L2 control. Calls for it return ENOTSUPPORTED.
    #[serde(rename = "l2")]
    L2,
}

/// The parts of the contract that an image omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omissions {
    minor1: bool,
    hubs: bool,
    l2: bool,
}

impl FromIterator<Omission> for Omissions {
    fn from_iter<T: IntoIterator<Item = Omission>>(all: T) -> Self {
        let mut omissions = Self::default();
        for one in all {
            match one {
                Omission::Minor1 => omissions.minor1 = true,
                Omission::Hubs => omissions.hubs = true,
                Omission::L2 => omissions.l2 = true,
            }
        }
        omissions
    }
}

impl Omissions {
    pub(super) const fn has(self, one: Omission) -> bool {
        match one {
            Omission::Minor1 => self.minor1,
            Omission::Hubs => self.hubs,
            Omission::L2 => self.l2,
        }
    }

    /// Returns whether the image omits register number `id`.
    pub(super) const fn omits_register(self, id: u64) -> bool {
        matches!(id, 18..=89) && self.hubs || id == 1 && self.l2
    }

    /// Returns the parts of the contract that the image omits.
    pub fn all(self) -> impl Iterator<Item = Omission> {
        let all = [Omission::Minor1, Omission::Hubs, Omission::L2];
        all.into_iter().filter(move |one| self.has(*one))
    }
}

/// Why an image cannot be checked.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum CheckError {
    /// The machine cannot be built.
    Setup(#[from] SetupError),
    /// The image does not fit into the hypervisor's memory.
    Memory(#[from] NoMemoryAt),
    /// The machine description is too large.
    Description(#[from] BuildError),
    /// None of a guest's strands has begun.
    #[error("the image has not started a guest within {0} instructions")]
    NoGuest(u64),
    /// Some of the guests' strands have not begun.
    #[error("the image has not started all of the guests' strands: {0:?}")]
    NotAll(Stop),
    /// The caller has interrupted the check.
    #[error("interrupted")]
    Interrupted,
}
