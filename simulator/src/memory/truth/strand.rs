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
    /// A line of data that is not in the L1 cache.
    Load,
    /// A store, whatever is in the L1 cache.
    Store,
}

/// Instructions by class, and requests by kind and service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct StrandRecord {
    /// Those without data, loads, stores, and those that do both.
    pub(in crate::memory) instructions: [u64; 4],
    served: [[u64; 4]; 3],
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

    /// The events that the mask names, added up.
    pub(super) fn total(&self, select: SparcSelect, perf_config: PerfConfig) -> u64 {
        (0..8)
            .map(|bit| 1 << bit)
            .filter(|bit| select.mask() & bit != 0)
            .map(|bit| self.event(select.class(), bit, perf_config))
            .sum()
    }

    fn event(&self, class: u8, bit: u8, perf_config: PerfConfig) -> u64 {
        let [without_data, load, store, both] = self.instructions;
        let [fetches, loads, stores] = &self.served;
        match (class, bit) {
            (2, 0x08) => load,
            (2, 0x10) => store,
            (2, 0x40) => without_data,
            (2, 0x80) => both,
            (3, 0x01) | (5, 0x08) => fetches.iter().sum(),
            (3, 0x02) | (5, 0x04) => loads.iter().sum(),
            (3, 0x10) => misses(fetches, perf_config),
            (3, 0x20) => misses(loads, perf_config),
            (5, 0x10) => stores.iter().sum(),
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
