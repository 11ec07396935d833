//! How long things take, in cycles of 0.86 ns (1.165 GHz), and where this is known from.
//!
//! The time of a strand is when it issues its instructions. What takes longer than an instruction is added to it where the
//! strand waits for it; what is busy meanwhile, others wait for. No public document of the T2 Plus states all of this: what is
//! marked *assumed* is chosen so that the sums are plausible. Another machine may have another [`Timing`].
//!
//! | on a T2 Plus, from issue until the strand goes on | cycles |
//! |---|---|
//! | an instruction without data, not taken | 1 |
//! | a load from the L1 cache | 3 |
//! | a branch that is taken | 5 |
//! | a load from the L2 cache | 26 |
//! | from the memory of a machine with one node | 153 |
//! | from the node's own memory, with several nodes | 215 |
//! | from the memory of another node | 293 |
//! | from the L2 cache of another node | 186 |

use serde::Serialize;

/// A pipeline issues one instruction in this time. Two integer pipelines a core, each with the strands of one thread group
/// of four: Nawathe et al., "Implementation of an 8-Core, 64-Thread, Power-Efficient SPARC Server on a Chip", IEEE Journal of
/// Solid-State Circuits 43(1), 2008.
pub const ISSUE: u64 = 1;

/// The times of a machine, in cycles, with those of a T2 Plus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// What a load takes after its issue if the L1 cache has the line: 2. The load-use latency is three cycles (Nawathe et al.).
    /// The instruction after it is assumed to use what it loads.
    pub load: u64,
    /// What a taken branch, jump, call, return or trap takes after its issue: 4. The compiler GCC schedules for the T2 with five
    /// cycles each (`gcc/config/sparc/niagara2.md`). Branches are predicted not to be taken, so that others take nothing.
    pub taken: u64,
    /// A request of a core goes through the crossbar to an L2 bank and back: 23. Assumed.
    pub l2: u64,
    /// A bank of the L2 cache is busy with a request, for each 16 bytes: 1. Eight banks that read 16 bytes a cycle make the
    /// 180 GB/s that Sun states for 1.4 GHz; a line of instructions, 32 bytes, takes twice as long.
    pub bank: u64,
    /// How many stores of a strand are on their way before the next has to wait: 8. Assumed.
    pub stores: u64,
    /// The hub serializes a request among those of its lines: 2. Assumed. (That it does, and that it lets a request wait as
    /// long as another for the same line is under way: D. Sheahan, "Zambezi Architecture", blogs.sun.com, October 2008.) Where
    /// nodes are linked directly they do it themselves, alike.
    pub serialize: u64,
    /// The other nodes of the machine are asked for a line, and answer: 60. Assumed.
    pub snoop: u64,
    /// A line comes from the cache of another node, in addition to the snoop and the links: 80. Assumed.
    pub cache_to_cache: u64,
    /// A line comes from memory, in addition to its time in the queue: 120. Assumed.
    pub memory: u64,
    /// The memory is that of another node, in addition to the links: 60. Assumed.
    pub remote: u64,
    /// A link between a node and a hub, or between two nodes, is busy with a line in one direction: 9, for 14 lanes of 4.8 Gb/s.
    /// Assumed.
    pub link: u64,
    /// A DRAM channel is busy with a line that is read: 7. The four of a T2 have more than 60 GB/s together, two thirds of it for
    /// reads (Shah et al., "UltraSPARC T2: A Highly-Threaded, Power-Efficient, SPARC SOC", A-SSCC 2007): 64 bytes in 6 ns.
    pub channel_read: u64,
    /// A DRAM channel is busy with a line that is written: 14, half as fast as it reads.
    pub channel_write: u64,
}

impl Timing {
    /// The times of a T2 Plus.
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

    /// No reference takes longer, unless it misses a cache.
    pub(super) const fn longest(&self) -> u64 {
        ISSUE + self.taken + self.load
    }
}
