//! All times of the memory system, in cycles of 0.86 ns (1.165 GHz), with their sources.
//!
//! A strand's time is the time at which it issues its instructions. Delays for which the strand waits are added to its time. A busy
//! unit delays other requests. No public document of the T2 Plus states all times, so those marked *assumed* were chosen to give
//! plausible sums. Another machine may have another [`Timing`].
//!
//! | on a T2 Plus, from issue until the strand continues | cycles |
//! |---|---|
//! | an instruction without data, except a taken branch | 1 |
//! | a load from the L1 cache | 3 |
//! | a branch that is taken | 5 |
//! | a load from the L2 cache | 26 |
//! | a load from the memory of a machine with one node | 153 |
//! | a load from the node's own memory, with several nodes | 215 |
//! | a load from the memory of another node | 293 |
//! | a load from the L2 cache of another node | 186 |

use serde::{Deserialize, Serialize};

use crate::recording::Done;

/// The time that a pipeline takes to issue one instruction. A core has two integer pipelines, each for one thread group of four
/// strands: Nawathe et al., "Implementation of an 8-Core, 64-Thread, Power-Efficient SPARC Server on a Chip", IEEE Journal of
/// Solid-State Circuits 43(1), 2008.
pub const ISSUE: u64 = 1;

/// A machine's times, in cycles. The comment on each field gives its value on a T2 Plus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The extra time of a load that hits the L1 cache: 2. The load-use latency is three cycles (Nawathe et al.), and the next
    /// instruction is assumed to use the loaded value.
    pub load: u64,
    /// The extra time of a taken branch, jump, call, return or trap: 4. For the T2, GCC schedules five cycles for each
    /// (`gcc/config/sparc/niagara2.md`). Branches are predicted not taken, so a branch that is not taken adds nothing.
    pub taken: u64,
    /// The time of a request from a core through the crossbar to an L2 bank and back: 23. Assumed.
    pub l2: u64,
    /// The time for which each 16 bytes of a request keep an L2 bank busy: 1. Eight banks that each read 16 bytes per cycle reach
    /// the 180 GB/s that Sun states for 1.4 GHz. An instruction cache line has 32 bytes, so its request takes twice as long.
    pub bank: u64,
    /// The maximum number of a strand's stores under way: 8. Assumed.
    pub stores: u64,
    /// The time that a hub takes to serialize a request: 2. Assumed. (A hub serializes requests, and lets a request wait while
    /// another request for the same line is under way: D. Sheahan, "Zambezi Architecture", blogs.sun.com, October 2008.) Nodes that
    /// are linked directly are assumed to do the same.
    pub serialize: u64,
    /// The time to ask the other nodes and to receive their answers: 60. Assumed.
    pub snoop: u64,
    /// The extra time for a line from another node's cache, in addition to snoop and links: 80. Assumed.
    pub cache_to_cache: u64,
    /// The time for a line from memory, in addition to its time in the queue: 120. Assumed.
    pub memory: u64,
    /// The extra time for a line from another node's memory, in addition to the links: 60. Assumed.
    pub remote: u64,
    /// The time for which a line keeps one direction of a link busy: 9. The link is between a node and a hub, or between two nodes.
    /// Assumed, for 14 lanes of 4.8 Gb/s.
    pub link: u64,
    /// The time for which a read keeps a DRAM channel busy: 7. Together, the four channels of a T2 transfer more than 60 GB/s, two
    /// thirds of it for reads (Shah et al., "UltraSPARC T2: A Highly-Threaded, Power-Efficient, SPARC SOC", A-SSCC 2007). So one
    /// channel reads 64 bytes in 6 ns.
    pub channel_read: u64,
    /// The time for which a write keeps a DRAM channel busy: 14, because writes have half the speed of reads.
    pub channel_write: u64,
}

impl Timing {
    /// The times of an UltraSPARC T2 Plus. The comments on the fields explain the values.
    pub const T2_PLUS: Self = Self {
        load: 2,
        taken: 4,
        l2: 23,
        bank: 1,
        stores: 8,
        serialize: 2,
        snoop: 60,
        cache_to_cache: 80,
        memory: 120,
        remote: 60,
        link: 9,
        channel_read: 7,
        channel_write: 14,
    };

    /// Returns the number of cycles that the work in `done` takes without misses.
    #[inline(always)]
    pub(super) fn elapsed(&self, done: &Done) -> u64 {
        u64::from(done.begun) * ISSUE
            + u64::from(done.taken) * self.taken
            + u64::from(done.loads) * self.load
    }

    /// Returns the number of cycles from the start of a shape to the issue of the latest instruction in `done`, without misses.
    #[inline(always)]
    pub(super) fn issued(&self, done: &Done) -> u64 {
        self.elapsed(&done.before_latest())
    }

    /// Returns the longest time that a reference can take if it misses no cache.
    pub(super) const fn longest(&self) -> u64 {
        ISSUE + self.taken + self.load
    }
}
