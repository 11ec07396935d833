//! Delivers interrupts that one strand sends to another.

use guest_abi::StrandId;

/// The number of cycles between a store to the interrupt dispatch register and the interrupt's
/// arrival, within a node. *Assumed*.
pub(super) const WITHIN: u64 = 40;

/// The number of additional cycles if the target is on another node. *Assumed*.
const BEYOND: u64 = 120;

/// Returns how many cycles an interrupt takes to arrive.
pub(super) fn latency(from: StrandId, to: StrandId) -> u64 {
    match from.node() == to.node() {
        true => WITHIN,
        false => WITHIN + BEYOND,
    }
}
