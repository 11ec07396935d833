//! The memory system of a simulated machine, which turns a program's references into counted events.
//!
//! # What is modelled
//! Nodes of 8 cores of 8 strands. Each core has an instruction cache (16 KB, 8 ways, lines of 32 bytes) and a data cache (8 KB, 4
//! ways, lines of 16 bytes, write-through, no allocation on a store). Each node has an inclusive L2 cache (4 MB, 16 ways, lines of
//! 64 bytes, 8 banks, write-back, allocation on a store) and two DRAM channels with a queue and a write-back buffer of 8 lines each.
//! [`geometry`] maps addresses to units, [`timing`] holds the times, [`modelled`] lists the counted events. Replacement is exact LRU
//! everywhere. These are the figures of a T2 Plus; another [`Config`] has others. A physical address is the low
//! [39 bits](geometry::ADDRESS_BITS) of the recorded one plus an offset.
//!
//! MOESI keeps the L2 caches of different nodes coherent. A request that misses asks all other nodes. A cache that has the line
//! modified or owned serves the request; otherwise the memory of the home node does, even if other caches have clean copies. A
//! store to a line that other nodes may hold invalidates their copies. On a machine with hubs each such request passes the hub of
//! the line, to every other node and back, and so does a line written back to another node; node n is at link port unit n of every
//! hub. On a machine without hubs the nodes are linked directly. A machine of one node has no such traffic.
//!
//! # Time
//! Every strand has its own time, and [`crate::replay::scheduler`] decides which strand executes next. A strand waits for its
//! instructions and for the values it loads, and goes on while up to [eight](timing::Timing::stores) stores are under way. It also
//! waits for busy units: the pipeline that it shares, an L2 bank, a hub, a link, a DRAM channel. All strands of a node wait for a
//! line on its way to their L2 cache, and a request to other nodes waits while another for the same line is under way. An atomic
//! instruction waits for its store.
//!
//! # How instructions are counted
//! Each instruction is in one class, and `Instr_cnt` is the sum of the classes: loads in `Instr_ld`, stores in `Instr_st`,
//! instructions that load and store in `Atomics` (on SPARC, only atomics do both), other branches in `Br_completed`, all others in
//! `Instr_other`. Jumps, calls and returns are branches; `Br_taken` counts the taken ones. (On other architectures, a branch that
//! loads or stores is in both classes, and counts once in `Instr_cnt`.) In a recording without flow, branches cannot be told from
//! other instructions. An instruction that loads and stores one place is a load and then a store to the memory system. A strand
//! counts as in user mode. A fetch or datum that crosses a line touches each of its lines, and each can miss. `Idle_strands` counts
//! the clocks in which no strand of the core issues an instruction, until the program ends.
//!
//! # What is simplified
//! - Many times are [assumed](timing). A strand has one request under way besides its stores, and executes nothing meanwhile.
//!   The instruction after a load uses the loaded value. All other instructions take one cycle, including multiplications,
//!   divisions and floating point. The two pipelines of a core share no load unit.
//! - Caches change when an instruction is issued, not when its data arrive. Hits and misses are therefore decided in the order of
//!   issue, one instruction with all its data after the other. The queues see each request at its own time.
//! - A recording holds what its threads did when they were recorded: spinning, the order of lock holders and the division of work
//!   do not change with the machine's time. Threads wait for each other only where one starts, joins or wakes another.
//! - The hubs' cycle counters count the cycles of the program but not of hypercalls, although the machine's clock advances by both:
//!   a guest's measurement does not include the cost of measuring.
//! - A store invalidates the copies of its line in the other data caches of the node, and the lines of its bytes in all instruction
//!   caches. It does not change the order of replacement in its own data cache.
//! - When the L2 cache drops a line, the L1 copies go too. A line that is written back is in memory at once, and no strand waits
//!   for it, however long the queue of its channel is.
//! - There are no TLBs, no speculation, no prefetching, no devices, and no references of the hypervisor.
//! - A read of a line in the write-back buffer is counted as held back. The line stays there until eight younger lines have come.

mod access;
mod channel;
mod coherence;
mod config;
mod copies;
mod figures;
pub mod geometry;
mod hub;
mod l1;
mod l2;
pub mod modelled;
mod moves;
mod order;
mod plane;
mod quantum;
mod queue;
mod stores;
mod system;
#[cfg(test)]
mod tests;
pub mod timing;
mod traffic;
mod truth;
mod wires;
mod work;

pub use channel::BUFFER_LINES;
pub use config::{Cache, Config, Impossible, Setting};
pub use figures::{Figures, T2Plus, Variant};
pub use geometry::NoMemory;
pub use modelled::Modelled;
pub use moves::Moves;
pub use quantum::{Executed, Quantum};
pub use system::{AnyMemory, MemoryError, MemorySystem};
pub use truth::{ChannelUse, HubUse, LinkUse, Served, Traffic, TrafficKind, Truth, Usage, Waited};
pub(crate) use wires::StrandEvents;
pub use work::{Watched, Work};
