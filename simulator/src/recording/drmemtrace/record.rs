//! The records of drmemtrace: `trace_entry_t` in DynamoRIO's `clients/drcachesim/common/trace_entry.h`.

use super::super::reference::{Flow, Kind};

/// The number of bytes in a 64-bit program's record: type, size and address, little endian.
pub(in super::super) const SIZE: usize = 12;

/// The oldest and newest versions of the format (`trace_version_t`) that this reader knows. Versions differ in which records a
/// recording contains. The numbers of record types never change.
pub(super) const MIN_VERSION: u64 = 2;
pub(super) const MAX_VERSION: u64 = 6;

/// The maximum number of bytes in an instruction (`MAX_ENCODING_LENGTH`).
const MAX_INSTRUCTION_BYTES: u16 = 17;

/// The first record of a file (`TRACE_TYPE_HEADER`). The version is in its address field.
pub(super) const HEADER: u16 = 25;

/// A record that is not a reference (`TRACE_TYPE_MARKER`). The kind of marker is in its size field.
pub(super) const MARKER: u16 = 28;

/// Kinds of markers (`trace_marker_type_t`). `TIMESTAMP` gives the time in microseconds. [`FILETYPE`] says what the recording
/// contains. `SYSCALL` says that the latest instruction is a system call.
const TIMESTAMP: u16 = 2;
pub(super) const FILETYPE: u16 = 9;
const SYSCALL: u16 = 25;

/// A record as it is in the file.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) kind: u16,
    pub(super) size: u16,
    pub(super) address: [u8; 8],
}

/// What a record means for a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A data access.
    Data(Kind),
    /// An instruction's fetch.
    Fetch(Flow),
    /// A conditional branch's fetch. The next instruction shows whether the branch is taken.
    Branch,
    /// The fetches of several instructions that follow the latest instruction in memory. The record's size is their number, and
    /// each byte of the record's address is the size of one of them.
    Bundle,
    /// A time stamp: the time at which the next records begin.
    Time,
    /// The latest instruction calls the operating system.
    SystemCall,
    End,
    /// No meaning: prefetches, flushes, encodings, instructions that are not fetched again, and descriptions of the recording.
    Nothing,
}

impl Meaning {
    pub(super) fn is_fetch(self) -> bool {
        matches!(self, Self::Fetch(_) | Self::Branch | Self::Bundle)
    }
}

impl Record {
    pub(super) fn new(bytes: &[u8; SIZE]) -> Self {
        let [k0, k1, s0, s1, address @ ..] = *bytes;
        Self { kind: u16::from_le_bytes([k0, k1]), size: u16::from_le_bytes([s0, s1]), address }
    }

    pub(super) fn value(&self) -> u64 {
        u64::from_le_bytes(self.address)
    }

    /// Returns the record's meaning. If the record is wrong, returns what was found and what was expected.
    pub(super) fn meaning(&self) -> Result<Meaning, (String, &'static str)> {
        let meaning = match self.kind {
            0 => Meaning::Data(Kind::Load),
            1 => Meaning::Data(Kind::Store),
            10 => Meaning::Fetch(Flow::Next),
            11 | 12 => Meaning::Fetch(Flow::Jump),
            13 => Meaning::Branch,
            14 | 15 => Meaning::Fetch(Flow::Call),
            16 => Meaning::Fetch(Flow::Return),
            17 => Meaning::Bundle,
            26 => Meaning::End,
            MARKER if self.size == TIMESTAMP => Meaning::Time,
            MARKER if self.size == SYSCALL => Meaning::SystemCall,
            31 => Meaning::Fetch(Flow::Trap),
            48 => Meaning::Fetch(Flow::Taken),
            49 => Meaning::Fetch(Flow::NotTaken),
            2..=9 | 18..=30 | 32..=47 => Meaning::Nothing,
            unknown => return Err((format!("type {unknown}"), "a type from 0 to 49")),
        };
        let wrong = |size: &u16| !(1..=MAX_INSTRUCTION_BYTES).contains(size);
        let size = match meaning {
            Meaning::Fetch(_) | Meaning::Branch => Some(self.size).filter(wrong),
            Meaning::Bundle if !(1..=8).contains(&self.size) => {
                return Err((format!("a bundle of {} instructions", self.size), "1 to 8"));
            }
            Meaning::Bundle => self.bundled().iter().copied().map(u16::from).find(wrong),
            _ => None,
        };
        match size {
            Some(size) => Err((format!("an instruction of {size} bytes"), "1 to 17 bytes")),
            None => Ok(meaning),
        }
    }

    /// Returns the sizes of a [bundle's](Meaning::Bundle) instructions.
    pub(super) fn bundled(&self) -> &[u8] {
        &self.address[..usize::from(self.size).min(8)]
    }
}
