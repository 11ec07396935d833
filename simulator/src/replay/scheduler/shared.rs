//! Memory that several programs share.

use std::ops::Range;

use super::offset_of;
use crate::recording::{Chunk, Recording};

/// The memory that programs share with the processes that first mapped it. The replay moves the data of these ranges to the addresses
/// where they are in the memory of the other process.
#[derive(Default)]
pub(super) struct SharedMemory {
    /// For each program: the shared ranges, and what is added to their addresses.
    programs: Vec<Vec<(Range<u64>, u64)>>,
}

impl SharedMemory {
    pub(super) fn new<'a>(recordings: impl Iterator<Item = &'a Recording>) -> Self {
        let all: Vec<_> = recordings.collect();
        let owner = |family: u64, number: u32| {
            let is_owner =
                |one: &&Recording| one.family() == family && one.process().number == number;
            all.iter().position(is_owner)
        };
        let ranges = |(program, recording): (usize, &&Recording)| {
            let shared = recording.process().shared.iter().filter_map(|range| {
                let owner = owner(recording.family(), range.owner)?;
                let there = range.owner_start.wrapping_add(offset_of(owner));
                let here = range.start.wrapping_add(offset_of(program));
                let distance = there.wrapping_sub(here);
                (distance != 0).then_some((range.start..range.end, distance))
            });
            shared.collect()
        };
        Self { programs: all.iter().enumerate().map(ranges).collect() }
    }

    /// Moves the shared data of a program's chunk.
    pub(super) fn move_data(&self, program: usize, chunk: &mut Chunk) {
        let ranges = self.programs.get(program).map_or(&[][..], Vec::as_slice);
        if !ranges.is_empty() {
            chunk.move_data(|address| {
                let shared = ranges.iter().find(|(range, _)| range.contains(&address));
                shared.map_or(address, |(_, distance)| address.wrapping_add(*distance))
            });
        }
    }
}
