//! Interrupts from strand to strand.

use guest_abi::StrandId;

/// The cycles from a store to the interrupt dispatch register to the arrival, within a node. *Assumed*.
pub(super) const WITHIN: u64 = 40;

/// The further cycles to another node. *Assumed*.
const BEYOND: u64 = 120;

/// Returns the cycles from the sending of an interrupt to its arrival.
pub(super) fn latency(from: StrandId, to: StrandId) -> u64 {
    match from.node() == to.node() {
        true => WITHIN,
        false => WITHIN + BEYOND,
    }
}
