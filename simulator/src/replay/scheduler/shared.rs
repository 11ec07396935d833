//! Memory that several programs share.

use std::ops::Range;

use refs::{Acquire, Order, Semaphore};

use super::places::offset_of;
use crate::recording::{Chunk, Recording};

/// The memory that programs share with the processes that first mapped it. The replay moves the data of these ranges to the addresses
/// where they are in the memory of the other process.
#[derive(Default)]
pub(super) struct SharedMemory {
    /// The shared ranges of each program.
    programs: Vec<Vec<SharedPart>>,
}

/// Memory that a program shares.
struct SharedPart {
    range: Range<u64>,
    /// The program that first mapped the memory, and the first address there.
    owner: usize,
    owner_start: u64,
    /// What is added to the addresses of data. This moves the data to where the owner has them.
    distance: u64,
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
                (distance != 0).then_some(SharedPart {
                    range: range.start..range.end,
                    owner,
                    owner_start: range.owner_start,
                    distance,
                })
            });
            shared.collect()
        };
        Self { programs: all.iter().enumerate().map(ranges).collect() }
    }

    /// Moves the shared data of a program's chunk.
    pub(super) fn move_data(&self, program: usize, chunk: &mut Chunk) {
        let parts = self.parts(program);
        if !parts.is_empty() {
            chunk.move_data(|address| {
                let shared = parts.iter().find(|part| part.range.contains(&address));
                shared.map_or(address, |part| address.wrapping_add(part.distance))
            });
        }
    }

    fn parts(&self, program: usize) -> &[SharedPart] {
        self.programs.get(program).map_or(&[], Vec::as_slice)
    }

    /// Returns the program whose memory has an object of `program`, such as a lock, and the object's address there.
    pub(super) fn object(&self, program: usize, address: u64) -> (usize, u64) {
        let shared = self.parts(program).iter().find(|part| part.range.contains(&address));
        shared.map_or((program, address), |part| {
            (part.owner, address - part.range.start + part.owner_start)
        })
    }

    /// Returns an order of `program` with the address that its object has in the memory of the program that first mapped it. Also returns
    /// that program.
    pub(super) fn order(&self, program: usize, order: Order) -> (usize, Order) {
        let object = |address| self.object(program, address);
        match order {
            Order::Acquire(acquire) => {
                let (owner, lock) = object(acquire.lock);
                (owner, Order::Acquire(Acquire { lock, ..acquire }))
            }
            Order::Release { lock, signal } => {
                let (owner, lock) = object(lock);
                (owner, Order::Release { lock, signal })
            }
            Order::Take(semaphore) => {
                let (owner, address) = object(semaphore.address);
                (owner, Order::Take(Semaphore { address, ..semaphore }))
            }
            Order::Post(semaphore) => {
                let (owner, address) = object(semaphore.address);
                (owner, Order::Post(Semaphore { address, ..semaphore }))
            }
            Order::Arrive { barrier, threads } => {
                let (owner, barrier) = object(barrier);
                (owner, Order::Arrive { barrier, threads })
            }
            _ => (program, order),
        }
    }
}
