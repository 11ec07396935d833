//! Where programs are in physical memory.

/// The distance in physical memory between the first [`SPACED`] programs: 8 GB.
const APART: u64 = 1 << 33;

/// The number of programs that are 8 GB apart. Each further program is within the 8 GB of one of them, and begins a multiple of 256
/// MB after that program's start.
const SPACED: usize = 48;
const CLOSER: u64 = 1 << 28;

/// Returns the [offset](Quantum::offset) of the program with this number.
pub(super) const fn offset_of(program: usize) -> u64 {
    (program % SPACED) as u64 * APART + (program / SPACED) as u64 * CLOSER
}

/// Returns the number of the program whose quanta have this [offset](Quantum::offset).
pub(crate) const fn program_at(offset: u64) -> usize {
    (offset / APART) as usize + SPACED * (offset % APART / CLOSER) as usize
}

/// The maximum number of recordings in a replay. Recordings do not share [memory](crate::memory::geometry) as long as one range of
/// less than 8 GB (or of 256 MB, with more than 48 recordings) contains the addresses of all of them.
pub const MOST_PROGRAMS: usize = SPACED * (APART / CLOSER) as usize;
