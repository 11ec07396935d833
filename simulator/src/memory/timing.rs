//! How long things take, in cycles of 0.86 ns (1.165 GHz), and where this is known from.
//!
//! The time of a strand is when it issues its instructions. What takes longer than an instruction is added to it where the
//! strand waits for it; what is busy meanwhile, others wait for. No public document of the T2 Plus states all of this: what is
//! marked *assumed* is chosen so that the sums are plausible.
//!
//! | from issue until the strand goes on | cycles |
//! |---|---|
//! | an instruction without data, not taken | 1 |
//! | a load from the L1 cache | 3 |
//! | a branch that is taken | 5 |
//! | a load from the L2 cache | 26 |
//! | from the memory of a machine with one node | 153 |
//! | from the node's own memory, with several nodes | 215 |
//! | from the memory of another node | 293 |
//! | from the L2 cache of another node | 186 |

/// A pipeline issues one instruction in this time. Two integer pipelines a core, each with the strands of one thread group
/// of four: Nawathe et al., "Implementation of an 8-Core, 64-Thread, Power-Efficient SPARC Server on a Chip", IEEE Journal of
/// Solid-State Circuits 43(1), 2008.
pub const ISSUE: u64 = 1;

/// What a load takes after its issue if the L1 cache has the line: the load-use latency is three cycles (Nawathe et al.).
/// The instruction after it is assumed to use what it loads.
pub const LOAD: u64 = 2;

/// What a taken branch, jump, call, return or trap takes after its issue: the compiler GCC schedules for the T2 with five
/// cycles each (`gcc/config/sparc/niagara2.md`). Branches are predicted not to be taken, so that others take nothing.
pub const TAKEN: u64 = 4;

/// A request of a core goes through the crossbar to an L2 bank and back. Assumed.
pub const L2_ACCESS: u64 = 23;

/// A bank of the L2 cache is busy with a request, of 16 bytes or less. Eight banks that read 16 bytes a cycle make the 180 GB/s
/// that Sun states for 1.4 GHz; a line of instructions, 32 bytes, takes twice as long.
pub const BANK: u64 = 1;

/// How many stores of a strand are on their way before the next has to wait. Assumed.
pub const STORES: usize = 8;

/// The hub serializes a request among those of its lines. Assumed. (That it does, and that it lets a request wait as long as
/// another for the same line is under way: D. Sheahan, "Zambezi Architecture", blogs.sun.com, October 2008.) Where nodes are
/// linked directly they do it themselves, alike.
pub const SERIALIZE: u64 = 2;

/// The other nodes of the machine are asked for a line, and answer. Assumed.
pub const SNOOP: u64 = 60;

/// A line comes from the cache of another node, in addition to the snoop and the links. Assumed.
pub const CACHE_TO_CACHE: u64 = 80;

/// A line comes from memory, in addition to its time in the queue. Assumed.
pub const MEMORY: u64 = 120;

/// The memory is that of another node, in addition to the links. Assumed.
pub const REMOTE: u64 = 60;

/// A link between a node and a hub, or between two nodes, is busy with a line in one direction: 14 lanes of 4.8 Gb/s. Assumed.
pub const LINK: u64 = 9;

/// A DRAM channel is busy with a line that is read. The four of a T2 have more than 60 GB/s together, two thirds of it for
/// reads (Shah et al., "UltraSPARC T2: A Highly-Threaded, Power-Efficient, SPARC SOC", A-SSCC 2007): 64 bytes in 6 ns.
pub const CHANNEL_READ: u64 = 7;

/// A DRAM channel is busy with a line that is written: half as fast (as [`CHANNEL_READ`]).
pub const CHANNEL_WRITE: u64 = 14;
