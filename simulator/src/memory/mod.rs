//! The memory system of a simulated machine: it turns a program's references into what the counters count.
//!
//! # What is modelled
//! Nodes of 8 cores of 8 strands. Each core has an instruction cache (16 KB, 8 ways, lines of 32 bytes) and a
//! data cache (8 KB, 4 ways, lines of 16 bytes, write-through, no allocation on a store). Each node has an L2
//! cache (4 MB, 16 ways, lines of 64 bytes, 8 banks, write-back, allocation on a store) that includes them, and
//! two DRAM channels with a queue and a write-back buffer of 8 lines each. [`geometry`] says which address goes
//! where, [`timing`] how long things take, [`modelled`] which events come of it. Replacement is exact LRU
//! everywhere. Physical addresses are the recorded ones plus an offset, their low
//! [39 bits](geometry::ADDRESS_BITS).
//!
//! The L2 caches of different nodes are kept coherent by MOESI. A request that misses asks all other nodes; a
//! cache that has the line modified or owned serves it, otherwise the memory of the home node does (also if
//! other caches have clean copies). A store to a line that others may have invalidates their copies. On a machine
//! with hubs each such request goes through the hub of the line, to every other node and back, and so do lines
//! written back to another node; node n is at link port unit n of every hub. On a machine without hubs the nodes
//! are linked directly, and a machine of one node has no such traffic.
//!
//! # How instructions are counted
//! Each is in one class, so that `Instr_cnt` is their sum: those that load in `Instr_ld`, those that store in
//! `Instr_st`, those that do both in `Atomics` (the only SPARC instructions that do), all others in
//! `Instr_other`. The memory treats an instruction that does both as a load and then a store. A strand counts as in user
//! mode. A fetch or datum that crosses a line touches each of its lines, and each can miss.
//!
//! # What is simplified
//! - Time is serial: one reference after the other, whatever the strand; nothing overlaps but the work of a DRAM channel
//!   on lines written back. So no request meets another in flight.
//! - The hubs' own cycle counters count the cycles of references, and not those of hypercalls, although the machine's clock
//!   advances by both: what a guest measures does not include its measuring.
//! - A store invalidates the copies of its 16 bytes in the other data caches, and those of its 32 bytes in all
//!   instruction caches of the node. It does not change the order of replacement in its own data cache.
//! - When the L2 cache loses a line, the L1 copies go too.
//! - No TLBs, no speculation, no prefetching, no devices, no hypervisor references.
//! - A line in the write-back buffer is read from there and not from DRAM; it stays until eight younger ones have
//!   come.

mod access;
mod channel;
mod coherence;
mod copies;
pub mod geometry;
mod l1;
mod l2;
pub mod modelled;
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
pub use geometry::NoMemory;
pub use modelled::Modelled;
pub use system::MemorySystem;
pub use truth::Truth;
pub use work::{Executed, Quantum, Work};
