//! The time since the machine was switched on.

use guest_abi::{Clock, StrandId};
use platform::TickRegisters;
use platform::sparc64::StrandRegs;

/// Bit NPT (nonprivileged trap) of %stick, which is not part of the time.
const NPT: u64 = 1 << 63;

/// Returns the calling strand's %stick, without bit NPT.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    // SAFETY: this is a hypervisor. It uses these registers only to read %stick.
    let registers = unsafe { StrandRegs::new(|_| {}) };
    // A read of %stick always returns the register of the executing strand, so any strand number will do.
    StrandId::new(0).map_or(0, |strand| registers.stick(strand)) & !NPT
}

/// A clock that shows the reading strand's %stick.
#[derive(Clone, Copy, Debug)]
pub struct Stick(());

impl Stick {
    /// Returns a clock that any strand can read.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

impl Clock for Stick {
    #[inline(always)]
    fn ticks(&self) -> u64 {
        ticks()
    }
}
