//! R10000s that execute recorded instructions while their counters sample.
//!
//! # What is modelled
//! In each cycle, up to four instructions are decoded in program order and enter the active list, which holds 32. At most one of the four
//! is a branch. Instructions issue from the next cycle on, at most one in a cycle to the address unit. Up to four instructions graduate
//! in a cycle, in program order. An interrupt or a TLB miss empties the active list. The instructions that were in it are decoded and
//! issued again, so more instructions issue than graduate. Jumps, calls, returns and traps graduate but do not issue, because no
//! functional unit executes them.
//!
//! A recording has neither the dependences between instructions nor their latencies. So a modelled instruction waits only for its fetch,
//! for the address unit and for its data. The caches serve one miss after another.
//!
//! The instruction and data caches have 32 KB each, as in the manual. The secondary cache has 1 MB, and a hit outside the predicted way
//! takes longer. Conditional branches are predicted by 512 two-bit counters, which bits 11:3 of the branches' addresses select. The
//! targets of all branches are known. A recording lacks the instructions of a mispredicted path. If the processor has executed this path
//! before, it decodes the path's known instructions, at most one branch per cycle. It stops when the mispredicted branch has executed,
//! one cycle after the branch issues. The path's decoded instructions are nullified: they do not issue, and use no cache. The branches
//! among them count as decoded, but not as mispredicted.
//!
//! A SPARC branch can annul its delay slot. An annulled instruction is fetched together with its branch, and takes one of the four decode
//! slots in the next decoding cycle. It is nullified: it neither issues nor graduates.
//!
//! An integer multiplication or division counts as two graduated instructions. An instruction that can set the exception bits of the
//! floating-point status register counts as a floating-point instruction. Prefetches and barriers count as loads.
//!
//! The TLB has 64 entries, each of which translates two pages of 16 KB. There is one address space. A seven-instruction handler refills
//! the TLB in exception mode, from a linear page table. The page table is also translated, so a TLB miss can occur in the program (in
//! user mode) or in the handler. The handler's instructions and the page table are always in the caches. A recording has no kernel:
//! nothing executes in kernel or supervisor mode.
//!
//! The threads of a program take turns on their processor. Each thread executes until it waits for another thread or ends. A switch
//! between threads costs nothing.
//!
//! An atomic instruction counts as a load linked and a store conditional, and graduates as these two instructions. Any other instruction
//! that loads and stores counts as one instruction, one load and one store. Only the timer uses the Count register. Addresses are used as
//! recorded.
//!
//! # Several processors
//! Up to four processors share a bus, like the manual's cluster bus. Thread n executes on processor n modulo the number of processors. A
//! block of the secondary cache is shared, clean and exclusive, or dirty and exclusive. A processor that misses a block asks all other
//! processors for it, and each of them sees an external intervention. A store to a shared block asks all other processors to invalidate
//! their copies, and each of them sees an external invalidation. Dirty data go from both of their owner's caches to the processor that
//! asks. A processor that sees a request counts the request's events in its next cycle, for its own oldest instruction. *Assumed*: an
//! invalidation takes as long as a secondary cache miss, and so does the transfer of a block from another processor.
//!
//! A store conditional fails if another processor has taken the block since the load linked. The processor then executes the load linked
//! and the store conditional again, and this time the store conditional never fails. (This is *assumed*, because a recording has each
//! atomic instruction only once.)

mod branches;
mod bus;
mod cache;
mod caches;
mod cluster;
mod core;
mod counts;
mod events;
mod instruction;
mod tlb;
mod true_counts;
mod wrong_path;

use platform::models::r10000::R10000Event;

pub use bus::MAX_PROCESSORS;
pub(crate) use cluster::Cluster;
use true_counts::Happened;

/// Why no branch events happen if the recording has no control flow.
pub(super) const NO_BRANCHES: &str = "the recording does not tell branches from other instructions";

/// Why no floating-point events happen if the recording has no control flow.
pub(super) const NO_CLASSES: &str =
    "the recording does not tell floating-point instructions from other instructions";

/// Returns why an event never happens; `None` if the processors model it. `flow` says whether the recording [has control
/// flow](crate::recording::Recording::has_flow).
pub(crate) fn absence(event: R10000Event, flow: bool, processors: usize) -> Option<&'static str> {
    use R10000Event as Event;
    match event {
        Event::BranchesDecoded | Event::BranchesMispredicted if !flow => Some(NO_BRANCHES),
        Event::FloatingPointGraduated if !flow => Some(NO_CLASSES),
        Event::Interventions
        | Event::Invalidations
        | Event::InterventionHits
        | Event::InvalidationHits
        | Event::StoresToShared
        | Event::ConditionalsFailed
            if processors == 1 =>
        {
            Some("there is no other processor")
        }
        _ => Happened::default().count(event).err(),
    }
}

/// Describes how the model limits an event; `None` if it does not.
pub(crate) fn limit(event: R10000Event) -> Option<&'static str> {
    use R10000Event as Event;
    match event {
        Event::Issued | Event::LoadsIssued | Event::StoresIssued => Some(
            "again after an interrupt or a TLB miss; the recording lacks what issues after a mispredicted branch",
        ),
        Event::Graduated0 | Event::Graduated1 => {
            Some("integer multiplications and divisions count twice, and so do atomic instructions")
        }
        Event::ConditionalsIssued | Event::ConditionalsGraduated => {
            Some("an atomic instruction counts as a load linked and a store conditional")
        }
        Event::ConditionalsFailed => {
            Some("with --processors: another processor has taken the block since the load linked")
        }
        Event::FloatingPointGraduated => Some(
            "needs a recording that marks the instructions that can set exception bits, such as one made by record",
        ),
        Event::BranchesDecoded => Some(
            "needs a recording that marks branches, such as one made by record; includes nullified branches that were executed before",
        ),
        Event::BranchesMispredicted => {
            Some("needs a recording that marks branches, such as one made by record")
        }
        Event::TlbRefills => {
            Some("those of the program; those in the refill handler with --modes user,exception")
        }
        Event::Interventions | Event::InterventionHits => {
            Some("with --processors: another processor misses the block in its secondary cache")
        }
        Event::Invalidations | Event::InvalidationHits => {
            Some("with --processors: another processor stores to a block that it shares")
        }
        Event::StoresToShared => Some("with --processors"),
        _ => None,
    }
}
