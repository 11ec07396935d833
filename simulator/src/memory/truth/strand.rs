//! The events of a strand and of a core.

use std::ops::AddAssign;

use guest_abi::layout::{PerfConfig, SparcSelect};
use serde::{Deserialize, Serialize};

use crate::counts::{Counts, counts};
use crate::recording::{ByKind, InstructionCounts};

/// The unit that served a core's request to the L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum ServedBy {
    /// The L2 cache of the strand's node.
    Hit,
    /// The memory of the strand's node.
    Local,
    /// The memory of another node.
    Remote,
    /// The L2 cache of another node.
    CacheToCache,
}

/// What a strand waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum Wait {
    /// A request to the L2 cache, with the unit that serves it.
    Request(ServedBy),
    /// A line that is already on its way to the L2 cache.
    Arriving,
    /// Too many stores of the strand are under way.
    Stores,
    /// The store of an atomic instruction.
    Atomic,
}

impl Wait {
    const COUNT: usize = 7;

    const fn index(self) -> usize {
        match self {
            Self::Request(service) => service as usize,
            Self::Arriving => 4,
            Self::Stores => 5,
            Self::Atomic => 6,
        }
    }
}

/// A core's request to the L2 cache for one line of an L1 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum CoreRequest {
    /// A line that misses the instruction cache.
    Fetch,
    /// A line that misses the data cache, for a load.
    Load,
    /// A line that misses the data cache, for an instruction that loads and stores.
    Atomic,
    /// A store, whether it hits the data cache or not.
    Store,
}

/// Counts the clocks in which a core's strands issued instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct CoreRecord {
    busy: u64,
    /// The first clock after the latest issue.
    after: u64,
}

impl CoreRecord {
    /// Records that a strand issued `count` instructions in different clocks, from `first` to `last`. Before this call, no strand
    /// of the core may have issued an instruction after `first`.
    #[inline(always)]
    pub(in crate::memory) fn issue(&mut self, first: u64, last: u64, count: u64) {
        self.busy += count - u64::from(first < self.after);
        self.after = last + 1;
    }

    /// Returns the number of busy clocks before the time `now`. No instruction may have been issued after `now`.
    pub(super) fn busy(&self, now: u64) -> u64 {
        self.busy - u64::from(self.after > now)
    }

    pub(super) fn from_busy(busy: u64) -> Self {
        Self { busy, after: 0 }
    }
}

/// A strand's instructions by class, its requests by kind and by serving unit, and its waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct StrandRecord {
    pub(in crate::memory) instructions: InstructionCounts,
    served: [[u64; 4]; 4],
    /// The number of cycles spent in each [`Wait`].
    waited: [u64; Wait::COUNT],
}

/// A value for each kind of unit that can serve a core's request to its node's L2 cache: either the number of requests that units
/// of this kind served, or the number of cycles that those requests took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The value for the L2 cache of the core's node.
    pub l2: u64,
    /// The value for the memory of the core's node.
    pub local: u64,
    /// The value for other nodes' memory.
    pub remote: u64,
    /// The value for other nodes' L2 caches.
    pub c2c: u64,
}

impl Served {
    /// Returns the sum of all values except that of the L2 cache of the core's node.
    pub const fn misses(&self) -> u64 {
        self.local + self.remote + self.c2c
    }

    fn new([l2, local, remote, c2c]: [u64; 4]) -> Self {
        Self { l2, local, remote, c2c }
    }
}

/// A strand's requests by serving unit, and its waits in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// The number of the strand's requests, including stores.
    pub served: Served,
    /// The number of cycles that the strand waited for its requests.
    pub requests: Served,
    /// The number of further cycles that the strand waited for lines already on their way to the L2 cache.
    pub arriving: u64,
    /// The number of cycles that the strand waited because too many of its stores were under way.
    pub stores: u64,
    /// The number of cycles that the strand waited for the stores of atomic instructions.
    pub atomics: u64,
}

counts! {
    Served { l2, local, remote, c2c }
    Waited { served, requests, arriving, stores, atomics }
    StrandRecord { instructions, served, waited }
}

impl AddAssign for Served {
    fn add_assign(&mut self, other: Self) {
        self.add(&other);
    }
}

impl Waited {
    /// Returns the counts since an earlier copy of them.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = *self;
        delta.subtract(earlier);
        delta
    }

    /// Returns the sum of all waits in cycles.
    pub const fn cycles(&self) -> u64 {
        let requests = self.requests.l2 + self.requests.misses() + self.arriving;
        requests + self.stores + self.atomics
    }
}

impl StrandRecord {
    pub(in crate::memory) fn served(&mut self, request: CoreRequest, service: ServedBy) {
        self.served[request as usize][service as usize] += 1;
    }

    #[inline]
    pub(in crate::memory) fn waits(&mut self, wait: Wait, cycles: u64) {
        self.waited[wait.index()] += cycles;
    }

    pub(in crate::memory) fn waited(&self) -> Waited {
        let [l2, local, remote, cache, arriving, stores, atomics] = self.waited;
        let served = |by: usize| self.served.iter().map(|served| served[by]).sum();
        Waited {
            served: Served::new(std::array::from_fn(served)),
            requests: Served::new([l2, local, remote, cache]),
            arriving,
            stores,
            atomics,
        }
    }

    pub(in crate::memory) fn instructions(&mut self, by_kind: &ByKind) {
        by_kind.add_to(&mut self.instructions);
    }

    /// Returns the number of clocks in which at least one of the selected events happens. If several selected events count the same
    /// instruction by its class, they happen in the same clock, so the instruction is counted once. Events of memory references
    /// each happen in a clock of their own.
    pub(super) fn total(&self, select: SparcSelect, perf_config: PerfConfig) -> u64 {
        let counted = |mask: u8, times: u64| if select.mask() & mask != 0 { times } else { 0 };
        let [fetches, loads, atomics, stores] = &self.served;
        let sum = |served: &[u64; 4]| served.iter().sum::<u64>();
        match select.base_class() {
            2 => {
                let [without_data, load, store, both, atomic] = self.instructions;
                // Each list has one mask for each of four groups of instructions: instructions that are neither branches nor of the
                // FGU, branches that are not taken, other branches, and FGU instructions.
                let classes = [
                    ([0x40, 0x01, 0x03, 0x04], without_data),
                    ([0x08, 0x09, 0x0b, 0x0c], load),
                    ([0x10, 0x11, 0x13, 0x14], store),
                    ([0x18, 0x19, 0x1b, 0x1c], both),
                    ([0x98, 0x99, 0x9b, 0x9c], atomic),
                ];
                (classes.into_iter())
                    .flat_map(|(masks, times)| masks.into_iter().zip(times))
                    .map(|(mask, times)| counted(mask, times))
                    .sum()
            }
            3 => {
                counted(0x01, sum(fetches))
                    + counted(0x02, sum(loads) + sum(atomics))
                    + counted(0x10, misses(fetches, perf_config))
                    + counted(0x20, misses(loads, perf_config))
            }
            5 => {
                counted(0x08, sum(fetches))
                    + counted(0x04, sum(loads) + sum(atomics))
                    + counted(0x10, sum(stores))
            }
            _ => 0,
        }
    }
}

fn misses(served: &[u64; 4], perf_config: PerfConfig) -> u64 {
    let [_, local, remote, cache_to_cache] = *served;
    match perf_config {
        PerfConfig::All => local + remote + cache_to_cache,
        PerfConfig::Local => local,
        PerfConfig::Remote => remote,
        PerfConfig::CacheToCache => cache_to_cache,
    }
}
