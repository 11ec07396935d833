//! Checks the trap levels that a guest can select. A guest can read the trap registers of these levels, and return from these levels.

use simulator::execute::map;
use simulator::interpreter::{Strand, TrapFrame};

/// HTSTATE's HPRIV bit.
pub(super) const HPRIV: u16 = 4;

/// The number of trap levels that a guest can select.
const GUESTS: usize = 2;

/// The hypervisor's global level, as in TSTATE.
const MAXGL: u64 = 3;

/// Returns `true` if a trap level still contains values of the hypervisor: an address in the hypervisor's memory, the hypervisor's
/// privilege, or its global level. Also returns `true` if only the addresses are cleared, while the state or the trap's number is left.
fn is_hypervisors(frame: &TrapFrame) -> bool {
    let TrapFrame { pc, npc, state, number, hpstate } = *frame;
    let is_cleared = pc == 0 && npc == 0;
    [pc, npc].iter().any(|at| map::HYPERVISOR.contains(at))
        || hpstate & HPRIV != 0
        || state >> 40 & 7 == MAXGL
        || is_cleared && (state, number) != (0, 0)
}

/// Checks the trap levels of a strand that runs its guest. The error shows a trap level that still
/// contains values of the hypervisor.
pub(super) fn judge(strand: &Strand) -> Result<(), String> {
    let (used, unused) = strand.control.frames();
    match used.iter().chain(unused).take(GUESTS).find(|frame| is_hypervisors(frame)) {
        Some(frame) => Err(format!("{frame:x?} is left")),
        None => Ok(()),
    }
}
