//! What happened on a strand.

use guest_abi::layout::{PerfConfig, SparcSelect};

use super::subtract;

/// Where a request of a core to the L2 cache was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum Service {
    /// In the L2 cache.
    Hit,
    /// By the memory of the node itself.
    Local,
    /// By the memory of another node.
    Remote,
    /// By the L2 cache of another node.
    CacheToCache,
}

/// A core's request to the L2 cache, one for each line of its L1 caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum Request {
    /// A line of instructions that is not in the L1 cache.
    Fetch,
    /// A line of data that is not in the L1 cache, for a load.
    Load,
    /// The same, for an instruction that also stores.
    Atomic,
    /// A store, whatever is in the L1 cache.
    Store,
}

/// Instructions by class, and requests by kind and service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct StrandRecord {
    /// Those without data, loads, stores, and those that do both.
    pub(in crate::memory) instructions: [u64; 4],
    served: [[u64; 4]; 4],
}

impl StrandRecord {
    pub(in crate::memory) fn served(&mut self, request: Request, service: Service) {
        self.served[request as usize][service as usize] += 1;
    }

    pub(super) fn subtract(&mut self, earlier: &Self) {
        subtract(&mut self.instructions, &earlier.instructions);
        let served = earlier.served.as_flattened();
        subtract(self.served.as_flattened_mut(), served);
    }

    /// The clocks in which an event of the select happens. The events of one instruction happen together; those of its
    /// references each happen in a clock of their own.
    pub(super) fn total(&self, select: SparcSelect, perf_config: PerfConfig) -> u64 {
        let happenings = self.happenings(select.base_class(), perf_config);
        let counted = happenings
            .iter()
            .filter(|(mask, _)| select.mask() & mask != 0);
        counted.map(|(_, times)| times).sum()
    }

    /// The MASK bits of the events of a class that happen together, and how often they do.
    fn happenings(&self, class: u8, perf_config: PerfConfig) -> [(u8, u64); 4] {
        let [without_data, load, store, both] = self.instructions;
        let [fetches, loads, atomics, stores] = &self.served;
        let sum = |served: &[u64; 4]| served.iter().sum::<u64>();
        match class {
            2 => [
                (0x40, without_data),
                (0x08, load),
                (0x10, store),
                (0x98, both),
            ],
            3 => [
                (0x01, sum(fetches)),
                (0x02, sum(loads) + sum(atomics)),
                (0x10, misses(fetches, perf_config)),
                (0x20, misses(loads, perf_config)),
            ],
            5 => [
                (0x08, sum(fetches)),
                (0x04, sum(loads) + sum(atomics)),
                (0x10, sum(stores)),
                (0, 0),
            ],
            _ => [(0, 0); 4],
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
