//! The time since the machine was switched on.

use guest_abi::StrandId;
use platform::TickRegisters;
use platform::sparc64::StrandRegs;

/// The bit of %stick that is no part of the time.
const NPT: u64 = 1 << 63;

/// Returns %stick of this strand.
pub(super) fn ticks() -> u64 {
    // SAFETY: this is a hypervisor, which uses these registers only to read %stick of the strand that executes this.
    let registers = unsafe { StrandRegs::new(|_| {}) };
    // The register does not depend on the number.
    StrandId::new(0).map_or(0, |strand| registers.stick(strand)) & !NPT
}
