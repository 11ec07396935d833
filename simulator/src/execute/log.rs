//! What software did that this machine does not fully simulate.

use std::collections::BTreeSet;
use std::fmt;

use guest_abi::StrandId;

/// What is noted, with the instruction that did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The strand.
    pub strand: StrandId,
    /// The address of the instruction, as the strand has it.
    pub pc: u64,
    /// What it did.
    pub what: What,
}

/// What is noted, once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A word that is no instruction of this processor.
    Illegal(u32),
    /// A word that is an instruction of the floating-point unit, which this machine does not have.
    FloatingPoint(u32),
    /// A load from a register in an alternate space that has no effect here: the space, and the address in it.
    Load(u8, u64),
    /// A store to such a register.
    Store(u8, u64),
    /// A physical address at which nothing answers.
    Nothing(u64),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal(word) => write!(f, "{word:#010x} is no instruction of this processor"),
            Self::FloatingPoint(word) => {
                write!(f, "{word:#010x} needs the floating-point unit, which is not simulated")
            }
            Self::Load(space, address) => {
                write!(f, "load from space {space:#x}, address {address:#x}, without effect")
            }
            Self::Store(space, address) => {
                write!(f, "store to space {space:#x}, address {address:#x}, without effect")
            }
            Self::Nothing(address) => {
                write!(f, "nothing answers at the physical address {address:#x}")
            }
        }
    }
}

/// What was noted: at most [`MOST`](Self::MOST) entries.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    known: BTreeSet<What>,
    dropped: u64,
}

impl Log {
    /// More entries are only counted.
    pub const MOST: usize = 1024;

    /// Returns the entries in the order in which they came.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns how many were dropped because there were too many.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn note(&mut self, strand: StrandId, pc: u64, what: What) {
        if self.known.contains(&what) {
            return;
        }
        if self.entries.len() == Self::MOST {
            self.dropped += 1;
            return;
        }
        self.known.insert(what);
        self.entries.push(Entry { strand, pc, what });
    }
}
