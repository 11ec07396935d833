//! An R10000 that executes recorded instructions while its counters sample.
//!
//! # What is modelled
//! In each cycle, up to four instructions are decoded in program order and enter the active list, which holds 32. At most one of the
//! four is a branch. Instructions issue from the next cycle on, at most one in a cycle to the address unit. Up to four instructions
//! graduate in a cycle, in program order. An interrupt or a TLB miss empties the active list. The instructions of the list are
//! decoded and issued again, so more instructions issue than graduate. Jumps, calls, returns and traps graduate but do not issue: no
//! functional unit executes them.
//!
//! A recording has neither the dependences between instructions nor their latencies. So an instruction waits only for its fetch, for
//! the address unit and for its data. The caches serve one miss after the other.
//!
//! The caches for instructions and for data have 32 KB each, as in the manual. The secondary cache has 1 MB; a hit in the way that is
//! not predicted takes longer. Conditional branches are predicted by 512 counters of two bits, selected by bits 11:3 of their
//! addresses. The targets of all branches are known. A recording lacks the instructions of a mispredicted path, so nothing is decoded
//! until the branch is resolved. So nullified branches, and cache accesses of the wrong path, do not occur. The branches executed are
//! the branches decoded minus the branches mispredicted, as the manual says.
//!
//! The TLB has 64 entries. Each translates two pages of 16 KB. There is one address space. A handler of seven instructions refills
//! the TLB in exception mode, from a linear page table. The page table is translated, too, so a TLB miss can occur in the program (in
//! user mode) or in the handler. The handler's instructions and the page table are always in the caches.
//!
//! The threads of a program take turns. Each thread executes until it waits for another thread or ends. A change of threads costs nothing.
//!
//! An instruction that loads and stores counts as one instruction, one load and one store. There are no other processors, and only
//! the timer uses the Count register. Addresses are used as recorded.

mod branches;
mod cache;
mod caches;
mod core;
mod counts;
mod events;
mod happened;
mod instruction;
mod tlb;

use platform::models::r10000::R10000Event;

pub(crate) use self::core::Core;
use happened::Happened;

/// Why a recording without control flow causes no branch events.
pub(super) const NO_BRANCHES: &str = "the recording does not tell branches from other instructions";

/// Returns why an event never happens; `None` if the processor models it. `flow` says whether the recording [has control
/// flow](crate::recording::Recording::has_flow).
pub(crate) fn absence(event: R10000Event, flow: bool) -> Option<&'static str> {
    use R10000Event as Event;
    match event {
        Event::BranchesDecoded | Event::BranchesMispredicted if !flow => Some(NO_BRANCHES),
        _ => Happened::default().count(event).err(),
    }
}

/// Returns the limits of a modelled event; `None` if it has no limits.
pub(crate) fn limit(event: R10000Event) -> Option<&'static str> {
    use R10000Event as Event;
    match event {
        Event::Issued | Event::LoadsIssued | Event::StoresIssued => Some(
            "again after an interrupt or a TLB miss; what issues after a mispredicted branch is not recorded",
        ),
        Event::BranchesDecoded | Event::BranchesMispredicted => {
            Some("if the recording tells branches from other instructions, as those of record do")
        }
        Event::TlbRefills => {
            Some("those of the program; those in the refill handler with --exceptions")
        }
        _ => None,
    }
}
