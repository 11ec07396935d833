//! Where programs are in physical memory.

/// The distance in physical memory between the first [`SPACED_PROGRAMS`] programs: 8 GB.
const PROGRAM_SPACING: u64 = 1 << 33;

/// The number of programs that are 8 GB apart. Further programs begin between these, at multiples of 256 MB after the start of one
/// of them.
const SPACED_PROGRAMS: usize = 48;
const CLOSE_SPACING: u64 = 1 << 28;

/// Returns the offset of the program with this number.
pub(super) const fn offset_of(program: usize) -> u64 {
    (program % SPACED_PROGRAMS) as u64 * PROGRAM_SPACING
        + (program / SPACED_PROGRAMS) as u64 * CLOSE_SPACING
}

/// Returns the number of the program whose quanta have this offset.
pub(crate) const fn program_at(offset: u64) -> usize {
    (offset / PROGRAM_SPACING) as usize
        + SPACED_PROGRAMS * (offset % PROGRAM_SPACING / CLOSE_SPACING) as usize
}

/// The maximum number of recordings in a replay. Up to 48 recordings share no [memory](crate::memory::geometry) if the addresses of
/// all of them lie in one range of less than 8 GB. With more recordings, the range must be smaller than 256 MB.
pub const MAX_PROGRAMS: usize = SPACED_PROGRAMS * (PROGRAM_SPACING / CLOSE_SPACING) as usize;
