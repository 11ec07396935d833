//! Memory that several programs share.

use std::ops::Range;

use refs::{Acquire, Order, Semaphore};

use super::program_addresses::offset_of;
use crate::recording::{Chunk, Recording};

/// The memory that programs share. The *owner* of shared memory is the program that was the first to map it. If another program
/// uses data there, the replay moves the data to the owner's addresses.
#[derive(Default)]
pub(super) struct SharedMemory {
    /// Each program's shared ranges, in address order.
    programs: Vec<Vec<SharedPart>>,
}

/// A range of memory that a program shares.
#[derive(Debug)]
struct SharedPart {
    range: Range<u64>,
    /// The program that was the first to map the memory. `owner_start` is the memory's first address in that program.
    owner: usize,
    owner_start: u64,
    /// The number to add to a datum's address in `range`, so that the datum moves to the owner's memory.
    distance: u64,
}

impl SharedMemory {
    pub(super) fn new<'a>(recordings: impl Iterator<Item = &'a Recording>) -> Self {
        let all: Vec<_> = recordings.collect();
        let owner = |family: u64, number: u32| {
            let is_owner =
                |one: &&Recording| one.family() == family && one.process().number == number;
            // A recording of family 0 is the only one in its file, so it shares nothing.
            all.iter().position(is_owner).filter(|_| family != 0)
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
            let mut shared: Vec<_> = shared.collect();
            shared.sort_by_key(|part| part.range.start);
            shared
        };
        Self { programs: all.iter().enumerate().map(ranges).collect() }
    }

    /// Moves the shared data in a program's chunk.
    pub(super) fn move_data(&self, program: usize, chunk: &mut Chunk) {
        let parts = self.parts(program);
        if !parts.is_empty() {
            chunk.move_data(|address| {
                part_at(parts, address).map_or(address, |part| address.wrapping_add(part.distance))
            });
        }
    }

    fn parts(&self, program: usize) -> &[SharedPart] {
        self.programs.get(program).map_or(&[], Vec::as_slice)
    }

    /// Finds an object of `program`, such as a lock. Returns the program whose memory holds the object, and the object's address
    /// there.
    pub(super) fn object(&self, program: usize, address: u64) -> (usize, u64) {
        part_at(self.parts(program), address).map_or((program, address), |part| {
            (part.owner, (address - part.range.start).wrapping_add(part.owner_start))
        })
    }

    /// Finds the program that was the first to map the memory of an order's object. Returns that program, and the order with the
    /// object's address there. If the object is not shared, returns `program` and the unchanged order.
    pub(super) fn order(&self, program: usize, order: Order) -> (usize, Order) {
        let mut order = order;
        let Some(address) = object_of(&mut order) else {
            return (program, order);
        };
        let owner;
        (owner, *address) = self.object(program, *address);
        (owner, order)
    }
}

/// Returns the address of the order's lock, semaphore or barrier; `None` if it has no such object.
fn object_of(order: &mut Order) -> Option<&mut u64> {
    match order {
        Order::Acquire(Acquire { lock, .. }) | Order::Release { lock, .. } => Some(lock),
        Order::Take(Semaphore { address, .. }) | Order::Post(Semaphore { address, .. }) => {
            Some(address)
        }
        Order::Arrive { barrier, .. } => Some(barrier),
        Order::Signal(_)
        | Order::Start(_)
        | Order::Wait(..)
        | Order::Sleep(_)
        | Order::Call(_)
        | Order::LeftOut(_) => None,
    }
}

/// Returns the part that contains an address.
fn part_at(parts: &[SharedPart], address: u64) -> Option<&SharedPart> {
    let after = parts.partition_point(|part| part.range.start <= address);
    parts[..after].last().filter(|part| part.range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Kind, Reference};

    /// Program 1 shares two ranges with program 0, where they have other addresses.
    fn shared() -> SharedMemory {
        let part = |start: u64, owner_start: u64| SharedPart {
            range: start..start + 0x1000,
            owner: 0,
            owner_start,
            distance: owner_start.wrapping_sub(start + (1 << 33)),
        };
        SharedMemory {
            programs: vec![Vec::new(), vec![part(0x1000, 0x8000), part(0x5000, 0x1000)]],
        }
    }

    #[test]
    fn shared_data_are_where_the_first_program_has_them() {
        let addresses = [0xfff, 0x1000, 0x1fff, 0x2000, 0x5008, 0x6000];
        let data = addresses.map(|address| Reference::new(address, 8, Kind::Load));
        let physical = |program: usize, offset: u64| {
            let mut chunk = Chunk::new(data.to_vec(), Vec::new());
            shared().move_data(program, &mut chunk);
            let moved = chunk.references().iter().map(|one| one.address.wrapping_add(offset));
            moved.collect::<Vec<_>>()
        };
        assert_eq!(physical(0, 0), addresses);
        let own = 1 << 33;
        let expected = [own + 0xfff, 0x8000, 0x8fff, own + 0x2000, 0x1008, own + 0x6000];
        assert_eq!(physical(1, own), expected);
    }

    #[test]
    fn a_lock_in_shared_memory_is_the_first_programs() {
        let release = |lock| Order::Release { lock, signal: 7 };
        assert_eq!(shared().order(1, release(0x1010)), (0, release(0x8010)));
        assert_eq!(shared().order(1, release(0x2010)), (1, release(0x2010)));
        assert_eq!(shared().order(0, release(0x1010)), (0, release(0x1010)));
        assert_eq!(shared().order(1, Order::Sleep(0x1010)), (1, Order::Sleep(0x1010)));
    }
}
