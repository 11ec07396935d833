//! The time since the machine was switched on.

use guest_abi::{Clock, StrandId};
use platform::TickRegisters;
use platform::sparc64::StrandRegs;

/// The bit of %stick that is not part of the time.
const NPT: u64 = 1 << 63;

/// Returns %stick of this strand.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    // SAFETY: this is a hypervisor, which uses these registers only to read %stick of the strand that executes this.
    let registers = unsafe { StrandRegs::new(|_| {}) };
    // Each strand reads its own register, whatever the number is.
    StrandId::new(0).map_or(0, |strand| registers.stick(strand)) & !NPT
}

/// A clock that counts %stick of the strand that reads it.
#[derive(Clone, Copy, Debug)]
pub struct Stick(());

impl Stick {
    /// Returns the clock.
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
