//! Interrupts from strand to strand.

use guest_abi::StrandId;

/// From a store to the interrupt dispatch register to the arrival, in cycles, within a node. *Assumed*.
pub(super) const WITHIN: u64 = 40;

/// What it takes longer to another node. *Assumed*.
const BEYOND: u64 = 120;

/// Returns how long an interrupt is on its way, in cycles.
pub(super) fn latency(from: StrandId, to: StrandId) -> u64 {
    match from.node() == to.node() {
        true => WITHIN,
        false => WITHIN + BEYOND,
    }
}
