//! The memory system of a simulated machine: it turns a program's references into what the counters count.
//!
//! # What is modelled
//! Nodes of 8 cores of 8 strands. Each core has an instruction cache (16 KB, 8 ways, lines of 32 bytes) and a
//! data cache (8 KB, 4 ways, lines of 16 bytes, write-through, no allocation on a store). Each node has an L2
//! cache (4 MB, 16 ways, lines of 64 bytes, 8 banks, write-back, allocation on a store) that includes them, and
//! two DRAM channels with a queue and a write-back buffer of 8 lines each. [`geometry`] says which address goes
//! where, [`timing`] how long things take, [`modelled`] which events come of it. Replacement is exact LRU
//! everywhere. These are the figures of a T2 Plus; another [`Config`] has others. Physical addresses are the recorded
//! ones plus an offset, their low [39 bits](geometry::ADDRESS_BITS).
//!
//! The L2 caches of different nodes are kept coherent by MOESI. A request that misses asks all other nodes; a
//! cache that has the line modified or owned serves it, otherwise the memory of the home node does (also if
//! other caches have clean copies). A store to a line that others may have invalidates their copies. On a machine
//! with hubs each such request goes through the hub of the line, to every other node and back, and so do lines
//! written back to another node; node n is at link port unit n of every hub. On a machine without hubs the nodes
//! are linked directly, and a machine of one node has no such traffic.
//!
//! # Time
//! Every strand has a time of its own, and [`crate::scheduler`] says whose turn it is. A strand waits for its instructions and
//! for what it loads; up to [eight](timing::Timing::stores) stores are on their way while it goes on. What serves others at the same
//! time is waited for: the pipeline that it shares, a bank of the L2 cache, a hub, a link, a DRAM channel. A line that is on
//! its way to an L2 cache is waited for by all strands of the node that use it, and a request to other nodes waits as long
//! as another for the same line is under way. An atomic instruction waits for its store.
//!
//! # How instructions are counted
//! Each is in one class, so that `Instr_cnt` is their sum: those that load in `Instr_ld`, those that store in
//! `Instr_st`, those that do both in `Atomics` (the only SPARC instructions that do), other branches in `Br_completed`, all
//! others in `Instr_other`. Branches are jumps, calls and returns, too; `Br_taken` counts those that go elsewhere. (On other
//! architectures than SPARC branches that load or store are in both classes, and count once in `Instr_cnt`.) A recording
//! without flow does not tell branches from other instructions. The memory treats an instruction that does both as a load and
//! then a store. A strand counts as in user mode. A fetch or datum that crosses a line touches each of its lines, and each can
//! miss. `Idle_strands` counts the clocks in which no strand of the core issues an instruction, until the program ends.
//!
//! # What is simplified
//! - Many times are [assumed](timing). A strand has one request under way besides its stores, and executes nothing meanwhile.
//!   The instruction after a load uses what it loads. Other instructions take one cycle: multiplications, divisions and
//!   floating point, too. The two pipelines of a core share no load unit.
//! - Caches change when an instruction is issued, and not when its data arrive. So what is found where is decided in the
//!   order of issue, one instruction after the other with all its data. The queues see each request at its own time.
//! - A recording has what its threads did when they were recorded: how often they spin, who gets a lock first, and how
//!   work is divided does not change with the machine's time. Threads wait for each other where one starts, joins or wakes
//!   another, and nowhere else.
//! - The hubs' own cycle counters count the cycles of the program, and not those of hypercalls, although the machine's clock
//!   advances by both: what a guest measures does not include its measuring.
//! - A store invalidates the copies of its line in the other data caches of the node, and of what its bytes are part of in all
//!   instruction caches. It does not change the order of replacement in its own data cache.
//! - When the L2 cache loses a line, the L1 copies go too. A line that is written back is at home at once, and no strand waits
//!   for it, however long the queue of its channel is.
//! - No TLBs, no speculation, no prefetching, no devices, no hypervisor references.
//! - A line in the write-back buffer is read from there and not from DRAM; it stays until eight younger ones have
//!   come.

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
pub use system::{AnyMemory, MemoryError, MemorySystem};
pub use truth::{ChannelUse, HubUse, LinkUse, Served, Traffic, TrafficKind, Truth, Usage, Waited};
pub(crate) use wires::StrandEvents;
pub use work::{Executed, Quantum, Watched, Work};
