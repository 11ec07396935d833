//! The memory system of a simulated machine. It turns a program's references into counted events.
//!
//! # What is modelled
//! A node has 8 cores of 8 strands. Each core has an instruction cache (16 KB, 8 ways, 32-byte lines) and a data cache (8 KB, 4
//! ways, 16-byte lines, write-through, no allocation on a store). Each node has an inclusive L2 cache (4 MB, 16 ways, 64-byte
//! lines, 8 banks, write-back, allocation on a store) and two DRAM channels, each with a queue and a write-back buffer of 8 lines.
//! Replacement is exact LRU everywhere. These are the figures of a T2 Plus; another [`Config`] may have others. [`geometry`] maps
//! addresses to units, [`timing`] holds the times, and [`modelled`] lists the counted events. A physical address is the low
//! [39 bits](geometry::ADDRESS_BITS) of the sum of the recorded address and the program's offset. The hardware's
//! [interleave](platform::homes) or an operating system's [page placement](pages) decides which node's memory holds the address.
//!
//! MOESI keeps the L2 caches of different nodes coherent. A request that misses the L2 cache asks all other nodes. If a cache has
//! the line as modified or owned, that cache serves the request. Otherwise the home node's memory does, even if other caches have
//! clean copies. A store to a line that other nodes may hold invalidates their copies. On a machine with hubs, each request to
//! other nodes goes through the line's hub to every other node and back. A line written back to another node also goes through the
//! hub. Node n is at link port unit n of every hub. On a machine without hubs, the nodes are linked directly. A machine with one
//! node has no such traffic.
//!
//! # Time
//! Every strand has its own time, and [`crate::replay::scheduler`] decides which strand executes next. A strand waits for its
//! instructions and for the values that it loads. It continues while up to [eight](timing::Timing::stores) of its stores are under
//! way. It also waits for busy units: the shared pipeline, an L2 bank, a hub, a link, a DRAM channel. An access to a line that is
//! on its way to the L2 cache waits for that line. A request to other nodes waits while another request for the same line is under
//! way. An atomic instruction waits for its store, and nothing comes between its load and its store. An instruction that loads and
//! stores but is not atomic does not wait for its store, and other strands can use the line between the load and the store.
//!
//! # How instructions are counted
//! Each instruction is in one class, and `Instr_cnt` is the sum of the classes. Loads are in `Instr_ld`, and stores in `Instr_st`.
//! Branches without data are in `Br_completed`, and floating-point and vector instructions without data in `Instr_FGU_arithmetic`.
//! Atomic instructions are in `Atomics`, and also in `Instr_ld` and `Instr_st`. All other instructions, including integer
//! multiplications and divisions, are in `Instr_other`. Jumps, calls and returns are branches. `Br_taken` counts the taken
//! branches. (On other architectures, one instruction can be in several classes: for example, a branch or a floating-point
//! instruction that loads, or an instruction that loads and stores but is not atomic. `Instr_cnt` counts such an instruction once.)
//! In a recording without control flow, branches, floating-point instructions and atomic instructions look like other instructions.
//! To the memory system, an atomic instruction is a load and then a store. All events happen in user mode. A fetch or datum that
//! crosses the end of a line touches two lines, and each can miss. `Idle_strands` counts the clocks in which no strand of the core
//! issues an instruction, until the program ends.
//!
//! # What is simplified
//! - Many of the times are [assumed](timing). A strand has at most one request under way, apart from its stores, and executes
//!   nothing while it waits for that request. The instruction after a load uses the loaded value. All other instructions take one
//!   cycle, including multiplications, divisions and floating point. The two pipelines of a core do not share a load unit.
//! - Caches change when an instruction is issued, not when its data arrive. So the order of issue decides which references hit and
//!   which miss. Each request enters the queues at its own time.
//! - A recording holds what its threads did when they were recorded. So the times of a replay change neither how long threads spin
//!   nor how they divide their work.
//! - The hubs' cycle counters count the program's cycles but not those of hypercalls, although the machine's clock advances by
//!   both. So a guest's measurement does not include its own cost.
//! - A store invalidates the copies of its line in the node's other data caches, and the lines that hold its bytes in all of the
//!   node's instruction caches. It does not change the replacement order of its own data cache.
//! - When the L2 cache drops a line, the L1 caches drop their copies. A line that is written back is in memory immediately: no
//!   strand waits for it, no matter how long its channel's queue is.
//! - There are no TLBs, no speculation, no prefetching, no devices, and no references by the hypervisor.
//! - A read of a line that is still in the write-back buffer is counted as held back for the line's write. A line stays in this
//!   buffer until eight later lines have replaced it.

mod access;
mod ahead;
pub(crate) mod broken;
mod channel;
mod coherence;
mod config;
mod copies;
mod figures;
pub mod geometry;
mod hub;
mod l1;
mod l2;
mod marks;
pub mod modelled;
mod moves;
mod order;
pub mod pages;
mod plane;
mod quantum;
mod queue;
mod stores;
mod strand_events;
mod system;
#[cfg(test)]
mod tests;
pub mod timing;
mod traffic;
mod truth;
mod watch;
mod work;

pub(crate) use ahead::{Affected, CoreAhead, Lane, MAX_AHEAD_REFERENCES, MAX_OVERSHOOT};
pub use channel::BUFFER_LINES;
pub use config::{Cache, Config, InvalidConfig, Setting};
pub use figures::{Figures, T2Plus, Variant};
pub use geometry::NoMemory;
pub use modelled::Modelled;
pub use moves::Moves;
pub(crate) use moves::{MovedLines, OtherMoves};
pub use pages::Pages;
pub(crate) use quantum::ExecutedAhead;
pub use quantum::{Executed, Quantum};
pub(crate) use strand_events::StrandEvents;
pub(crate) use system::LineHomes;
pub use system::{AnyMemory, MemoryError, MemorySystem};
pub use truth::{
    ChannelUse, HubUse, LinkUse, Served, Stray, Traffic, TrafficKind, Truth, Usage, Waited,
};
pub(crate) use watch::Watch;
pub use work::Work;
