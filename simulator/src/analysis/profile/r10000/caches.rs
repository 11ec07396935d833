//! An R10000's caches (R10000 Microprocessor User's Manual, chapter 4).

use super::cache::{Cache, CacheLine, Found, State};
use super::counts::counts;

/// The primary instruction and data caches have 32 KB each.
const PRIMARY_BYTES: usize = 32 << 10;
/// A line of the primary instruction cache has 64 bytes.
const INSTRUCTION_SHIFT: u32 = 6;
/// A line of the primary data cache has 32 bytes.
const DATA_SHIFT: u32 = 5;
/// The secondary cache has 1 MB. The hardware allows 512 KB to 16 MB.
const SECONDARY_BYTES: usize = 1 << 20;
/// A line of the secondary cache has 128 bytes. The hardware also allows 64.
const SECONDARY_SHIFT: u32 = 7;

/// The number of quadwords (16 bytes) in a line of the primary data cache.
const DATA_QUADWORDS: u64 = 1 << (DATA_SHIFT - 4);
/// The number of quadwords in a line of the secondary cache.
const SECONDARY_QUADWORDS: u64 = 1 << (SECONDARY_SHIFT - 4);

counts! {
    /// The cache events that references cause. Fields whose names contain `secondary` are for the secondary cache, and other fields are for
    /// the primary caches unless documented otherwise.
    pub(super) struct Traffic {
        pub(super) instruction_misses: u64,
        pub(super) secondary_instruction_misses: u64,
        pub(super) data_misses: u64,
        pub(super) secondary_data_misses: u64,
        /// The number of quadwords written back from the primary data cache.
        pub(super) data_quadwords: u64,
        /// The number of quadwords written back from the secondary cache.
        pub(super) secondary_quadwords: u64,
        /// The number of primary instruction cache misses that hit the secondary cache, but not in the predicted way.
        pub(super) instruction_ways: u64,
        /// The number of primary data cache misses that hit the secondary cache, but not in the predicted way.
        pub(super) data_ways: u64,
        /// The number of stores to a clean secondary cache block that no other processor has.
        pub(super) stores_to_clean: u64,
        /// The number of stores to a secondary cache block that other processors may have.
        pub(super) stores_to_shared: u64,
        /// The number of other processors' requests for blocks. `intervention_hits` counts the requests whose block was in this secondary
        /// cache.
        pub(super) interventions: u64,
        pub(super) intervention_hits: u64,
        /// The number of other processors' requests to invalidate blocks. `invalidation_hits` counts the requests whose block was in this
        /// secondary cache.
        pub(super) invalidations: u64,
        pub(super) invalidation_hits: u64,
    }
}

/// A request to the other processors about a secondary cache block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Asks for the block in order to read it. The other processors see an intervention.
    Read,
    /// Asks for the block in order to write to it. The other processors see an intervention, which also invalidates their copies.
    ReadExclusive,
    /// Asks the other processors to drop their copies of a block that the sender already has. The other processors see an
    /// invalidation.
    Invalidate,
}

/// Sends a request about a block to the other processors. Returns whether any of them had the block.
pub(super) type Snoop<'a> = dyn FnMut(Request, u64) -> bool + 'a;

/// Two primary caches, and a secondary cache that includes both. All have two ways, replace the least recently used line, write back, and
/// allocate on writes. The first store to a block also makes the block dirty in the secondary cache, although only the primary cache gets
/// the data. Before the first store to a block that other processors may have, the processor invalidates their copies. The secondary cache
/// predicts that an access uses its set's most recently used way. The hardware's table of 8192 predictions is large enough for all sets.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    instructions: Cache,
    data: Cache,
    secondary: Cache,
}

impl Caches {
    pub(super) fn new() -> Self {
        Self {
            instructions: Cache::new(PRIMARY_BYTES, 1 << INSTRUCTION_SHIFT),
            data: Cache::new(PRIMARY_BYTES, 1 << DATA_SHIFT),
            secondary: Cache::new(SECONDARY_BYTES, 1 << SECONDARY_SHIFT),
        }
    }

    pub(super) fn fetch(
        &mut self,
        address: u64,
        size: u16,
        traffic: &mut Traffic,
        snoop: &mut Snoop<'_>,
    ) {
        for number in lines(address, size, INSTRUCTION_SHIFT) {
            if self.instructions.touch(number, false).is_some() {
                continue;
            }
            traffic.instruction_misses += 1;
            let block = number >> (SECONDARY_SHIFT - INSTRUCTION_SHIFT);
            match self.secondary(block, Request::Read, traffic, snoop) {
                Some(found) => traffic.instruction_ways += u64::from(found.other_way),
                None => traffic.secondary_instruction_misses += 1,
            }
            self.instructions.fill(CacheLine::new(number, State::Clean));
        }
    }

    pub(super) fn access(
        &mut self,
        address: u64,
        size: u16,
        store: bool,
        traffic: &mut Traffic,
        snoop: &mut Snoop<'_>,
    ) {
        for number in lines(address, size, DATA_SHIFT) {
            let block = number >> (SECONDARY_SHIFT - DATA_SHIFT);
            if let Some(found) = self.data.touch(number, store) {
                if store && !found.was_dirty {
                    self.own(block, traffic, snoop);
                }
                continue;
            }
            traffic.data_misses += 1;
            let request = if store { Request::ReadExclusive } else { Request::Read };
            match self.secondary(block, request, traffic, snoop) {
                Some(found) => {
                    traffic.data_ways += u64::from(found.other_way);
                    if store {
                        self.own(block, traffic, snoop);
                    }
                }
                None => traffic.secondary_data_misses += 1,
            }
            let state = if store { State::Dirty } else { State::Clean };
            let victim = self.data.fill(CacheLine::new(number, state));
            if victim.is_some_and(|victim| victim.is_dirty()) {
                traffic.data_quadwords += DATA_QUADWORDS;
            }
        }
    }

    /// Makes a secondary cache block dirty, and invalidates other processors' copies.
    fn own(&mut self, block: u64, traffic: &mut Traffic, snoop: &mut Snoop<'_>) {
        match self.secondary.set_state(block, State::Dirty) {
            Some(State::Clean) => traffic.stores_to_clean += 1,
            Some(State::Shared) => {
                traffic.stores_to_shared += 1;
                snoop(Request::Invalidate, block);
            }
            Some(State::Dirty) | None => {}
        }
    }

    /// Reads a line from the secondary cache for a primary cache. Returns `None` if the line comes from memory or another processor.
    fn secondary(
        &mut self,
        number: u64,
        request: Request,
        traffic: &mut Traffic,
        snoop: &mut Snoop<'_>,
    ) -> Option<Found> {
        let found = self.secondary.touch(number, false);
        if found.is_none() {
            let is_shared = snoop(request, number);
            let state = match request {
                Request::ReadExclusive => State::Dirty,
                _ if is_shared => State::Shared,
                _ => State::Clean,
            };
            if let Some(victim) = self.secondary.fill(CacheLine::new(number, state)) {
                self.expel(victim.number, traffic);
                if victim.is_dirty() {
                    traffic.secondary_quadwords += SECONDARY_QUADWORDS;
                }
            }
        }
        found
    }

    /// Answers another processor's request about a block. Returns whether the secondary cache had the block. If the block is dirty, its data
    /// leave both caches.
    pub(super) fn answer(&mut self, request: Request, block: u64, traffic: &mut Traffic) -> bool {
        let has = self.secondary.has(block);
        let (requests, hits) = match request {
            Request::Read | Request::ReadExclusive => {
                (&mut traffic.interventions, &mut traffic.intervention_hits)
            }
            Request::Invalidate => (&mut traffic.invalidations, &mut traffic.invalidation_hits),
        };
        *requests += 1;
        *hits += u64::from(has);
        if !has {
            return false;
        }
        let state = match request {
            Request::Read => {
                for part in parts(block, DATA_SHIFT) {
                    if self.data.set_state(part, State::Clean) == Some(State::Dirty) {
                        traffic.data_quadwords += DATA_QUADWORDS;
                    }
                }
                self.secondary.set_state(block, State::Shared)
            }
            Request::ReadExclusive | Request::Invalidate => {
                self.expel(block, traffic);
                self.secondary.remove(block).map(|line| line.state)
            }
        };
        if state == Some(State::Dirty) {
            traffic.secondary_quadwords += SECONDARY_QUADWORDS;
        }
        true
    }

    /// Returns whether the secondary cache contains the block at an address.
    pub(super) fn has_block(&self, address: u64) -> bool {
        self.secondary.has(address >> SECONDARY_SHIFT)
    }

    /// Drops a secondary cache line from both primary caches.
    fn expel(&mut self, number: u64, traffic: &mut Traffic) {
        for part in parts(number, INSTRUCTION_SHIFT) {
            self.instructions.remove(part);
        }
        for part in parts(number, DATA_SHIFT) {
            if self.data.remove(part).is_some_and(|line| line.is_dirty()) {
                traffic.data_quadwords += DATA_QUADWORDS;
            }
        }
    }
}

/// Returns the numbers of the primary cache lines that together form a secondary cache block. A primary cache line has `1 << shift` bytes.
fn parts(block: u64, shift: u32) -> std::ops::Range<u64> {
    let of_line = SECONDARY_SHIFT - shift;
    (block << of_line)..(block + 1) << of_line
}

/// Returns the numbers of the lines that a reference touches. Leaves out lines beyond the end of the address space.
fn lines(address: u64, size: u16, shift: u32) -> std::ops::RangeInclusive<u64> {
    let last = address.saturating_add(u64::from(size).saturating_sub(1));
    address >> shift..=last >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Performs fetches, loads and stores. Returns the events that they cause.
    fn traffic(caches: &mut Caches, references: &[(char, u64)]) -> Traffic {
        let mut traffic = Traffic::default();
        let mut alone = |_, _| false;
        for (kind, address) in references {
            match kind {
                'I' => caches.fetch(*address, 4, &mut traffic, &mut alone),
                'L' => caches.access(*address, 8, false, &mut traffic, &mut alone),
                _ => caches.access(*address, 8, true, &mut traffic, &mut alone),
            }
        }
        traffic
    }

    #[test]
    fn lines_have_the_sizes_of_the_manual() {
        let mut caches = Caches::new();
        let misses =
            traffic(&mut caches, &[('I', 0), ('I', 60), ('I', 64), ('I', 124), ('I', 128)]);
        assert_eq!(misses.instruction_misses, 3);
        assert_eq!(misses.secondary_instruction_misses, 2);
        let misses = traffic(
            &mut caches,
            &[('L', 4096), ('L', 4120), ('L', 4128), ('S', 4223), ('L', 4224)],
        );
        // The fourth load touches two lines.
        assert_eq!(misses.data_misses, 4);
        assert_eq!(misses.secondary_data_misses, 2);
        assert_eq!((misses.data_quadwords, misses.secondary_quadwords), (0, 0));
    }

    /// Addresses that differ by 16 KB share a primary cache set. Addresses that differ by 512 KB share a secondary cache set.
    #[test]
    fn what_is_dirty_is_written_back() {
        let mut caches = Caches::new();
        let k16 = 16 << 10;
        let first = traffic(&mut caches, &[('S', 0), ('L', k16), ('L', 2 * k16)]);
        assert_eq!(first.data_misses, 3);
        assert_eq!(first.data_quadwords, 2, "32 bytes");
        // The secondary cache writes back the dirty block.
        let back = traffic(&mut caches, &[('L', 0)]);
        assert_eq!((back.data_misses, back.secondary_data_misses), (1, 0));
        let k512 = 512 << 10;
        let others = traffic(&mut caches, &[('L', k512), ('L', 2 * k512)]);
        assert_eq!(others.secondary_data_misses, 2);
        assert_eq!(others.secondary_quadwords, 8, "128 bytes");
        assert_eq!(others.data_quadwords, 0);
    }

    #[test]
    fn the_secondary_cache_includes_the_others() {
        let mut caches = Caches::new();
        let k512 = 512 << 10;
        // The three accesses use three different lines of the primary caches. So the data cache drops the first line only because it must
        // drop every line that the secondary cache drops.
        let stores = traffic(&mut caches, &[('S', 0), ('I', 64), ('L', k512 + 32)]);
        assert_eq!(stores.secondary_data_misses, 2);
        let third = traffic(&mut caches, &[('L', 2 * k512 + 96)]);
        assert_eq!((third.data_quadwords, third.secondary_quadwords), (2, 8));
        let again = traffic(&mut caches, &[('L', 0), ('I', 64)]);
        assert_eq!((again.data_misses, again.instruction_misses), (1, 1));
    }

    /// A block that a store fetches is dirty from the start. A block that a load or an instruction fetch adds is clean until the first
    /// store.
    #[test]
    fn the_first_store_to_a_clean_block() {
        let mut caches = Caches::new();
        let mut first =
            |references: &[(char, u64)]| traffic(&mut caches, references).stores_to_clean;
        assert_eq!(first(&[('S', 0), ('S', 32), ('S', 0)]), 0);
        assert_eq!(first(&[('L', 128), ('L', 160)]), 0);
        assert_eq!(first(&[('S', 128)]), 1);
        assert_eq!(first(&[('S', 128), ('S', 160), ('S', 192)]), 0);
        assert_eq!(first(&[('I', 256), ('S', 256)]), 1);
        // The primary cache has evicted the line, but the secondary cache still has it.
        let k16 = 16 << 10;
        assert_eq!(first(&[('L', 512), ('L', 512 + k16), ('L', 512 + 2 * k16)]), 0);
        assert_eq!(first(&[('S', 512)]), 1);
    }

    /// Blocks 0 and `k512` share a secondary cache set and are used alternately. In between, `others` evicts them from the primary cache.
    #[test]
    fn the_way_that_was_used_last_is_predicted() {
        let mut caches = Caches::new();
        let k512 = 512 << 10;
        let both = [('L', 0), ('L', k512)];
        let others = [('L', 8 << 10 << 1), ('L', (8 << 10 << 1) + k512)];
        let misses = traffic(&mut caches, &both);
        assert_eq!((misses.secondary_data_misses, misses.data_ways), (2, 0));
        traffic(&mut caches, &others);
        let again = traffic(&mut caches, &both);
        assert_eq!((again.data_misses, again.secondary_data_misses), (2, 0));
        assert_eq!(again.data_ways, 2);
        traffic(&mut caches, &others);
        let last = traffic(&mut caches, &[('L', k512), ('I', k512), ('I', 0)]);
        assert_eq!((last.data_misses, last.data_ways), (1, 0));
        assert_eq!((last.instruction_misses, last.instruction_ways), (2, 1));
    }
}
