//! %stick as a clock.

use guest_abi::{Clock, StrandId};
use platform::TickRegisters;
use platform::sparc64::StrandRegs;

/// A clock that counts %stick of the strand that reads it.
#[derive(Clone, Copy, Debug)]
pub struct Stick(StrandRegs);

impl Stick {
    /// Returns the clock.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode.
    pub const unsafe fn new() -> Self {
        // SAFETY: %stick is read only, and on the strand that executes the call, whichever number is named.
        Self(unsafe { StrandRegs::new(|_| {}) })
    }
}

impl Clock for Stick {
    #[inline(always)]
    fn ticks(&self) -> u64 {
        const NPT: u64 = 1 << 63;
        self.0.stick(const { StrandId::new(0).unwrap() }) & !NPT
    }
}
