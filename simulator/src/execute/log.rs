//! Logs software actions that this machine does not fully model.

use std::collections::BTreeSet;
use std::fmt;

use guest_abi::StrandId;

/// A log entry: an instruction's address, and what the instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LogEntry {
    pub strand: StrandId,
    /// The instruction's address, before translation.
    pub pc: u64,
    pub what: What,
}

/// An action that this machine does not fully model. The log has each action only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum What {
    Illegal(u32),
    FloatingPoint(u32),
    /// A load from a register that has no effect in this machine: the ASI and the address.
    Load(u8, u64),
    /// A store to a register that has no effect in this machine: the ASI and the address.
    Store(u8, u64),
    NoDevice(u64),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal(word) => {
                write!(f, "{word:#010x} is not an instruction of this processor")
            }
            Self::FloatingPoint(word) => {
                write!(f, "{word:#010x} needs the floating-point unit, which is not simulated")
            }
            Self::Load(space, address) => {
                write!(f, "load from space {space:#x}, address {address:#x}, without effect")
            }
            Self::Store(space, address) => {
                write!(f, "store to space {space:#x}, address {address:#x}, without effect")
            }
            Self::NoDevice(address) => {
                write!(f, "nothing answers at the physical address {address:#x}")
            }
        }
    }
}

/// The log, which keeps at most [`MAX_ENTRIES`](Self::MAX_ENTRIES) entries.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Vec<LogEntry>,
    known: BTreeSet<What>,
    dropped: u64,
}

impl Log {
    /// The maximum number of entries. Further actions are only counted.
    pub const MAX_ENTRIES: usize = 1024;

    /// Returns the entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    /// Returns how many actions are missing from the log because it was full.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn note(&mut self, strand: StrandId, pc: u64, what: What) {
        if self.known.contains(&what) {
            return;
        }
        if self.entries.len() == Self::MAX_ENTRIES {
            self.dropped += 1;
            return;
        }
        self.known.insert(what);
        self.entries.push(LogEntry { strand, pc, what });
    }
}
