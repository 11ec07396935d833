//! An R10000 that executes recorded instructions while its counters sample.
//!
//! # What is modelled
//! Up to four instructions are decoded in a cycle, in their order, at most one branch among them, and enter the active list,
//! which holds 32. They issue from the next cycle on, at most one in a cycle to the address unit, and up to four
//! graduate in a cycle, in their order. An interrupt or a TLB miss empties the active list: its instructions are decoded and
//! issued again, so that more instructions issue than graduate. Jumps, calls, returns and traps graduate, but are
//! not issued: no functional unit executes them.
//!
//! A recording has neither the dependences between instructions nor their latencies. So an instruction waits only for
//! its fetch, the address unit and its data, and the caches serve one miss after the other.
//!
//! The caches have the sizes of the manual: 32 KB for instructions and 32 KB for data, and a secondary cache, here of 1 MB,
//! whose second way is found later than expected. Conditional branches are predicted by 512 counters of two bits, which bits
//! 11:3 of their addresses select; the targets of all branches are known. A recording lacks the instructions of a mispredicted path,
//! so nothing is decoded until the branch is resolved: nullified branches, and accesses of the wrong path to the caches, do not
//! occur. The branches executed are the branches decoded minus the branches mispredicted, as the manual says.
//!
//! The TLB has 64 entries for two pages of 16 KB each, and one address space. A handler of seven instructions refills it in
//! exception mode, from a linear page table that is translated, too: so a TLB miss is nascent, in the program, or in the
//! handler. Only the first kind is in user mode. The handler's instructions and the page table are always in the caches.
//!
//! The threads of a program take turns, each until it waits for another or ends, and a change of threads costs nothing.
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

/// Returns the limits of a modelled event, if there are any.
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
