//! Device registers by physical address.
#![allow(unsafe_code)]

use core::arch::asm;

use guest_abi::StrandId;

use crate::{AccessError, Bus, PhysicalAddress};

/// The bus of the machine itself. Hyperprivileged code runs with the MMU off, so its addresses are physical (those with
/// bit 39 set are not cached).
///
/// `read` and `write` wait until the access is complete, and return [`AccessError::Fault`] if it trapped. A fast path in assembly
/// makes its accesses itself. A store that nobody waits for may trap later: see [late faults](super#late-faults).
///
/// A strand of an UltraSPARC T2 Plus waits for the value of a load before it executes anything else, so a read is complete
/// when it returns. It goes on before a store has reached a device: `write` and `complete_writes` contain the `membar #Sync`
/// that waits for it.
#[derive(Clone, Copy, Debug)]
pub struct Mmio(());

#[repr(C)]
struct Answer {
    fault: u64,
    value: u64,
}

unsafe extern "C" {
    fn sun4v_load(address: u64) -> Answer;
    fn sun4v_store(address: u64, value: u64) -> u64;
}

impl Mmio {
    /// Returns the bus.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode with the MMU off. Nothing but device registers is at the addresses that
    /// it is asked for.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

impl Bus for Mmio {
    fn read(&self, _: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        // SAFETY: `new` promises that a device register is there; a trap comes back as an answer.
        let Answer { fault, value } = unsafe { sun4v_load(address.0) };
        if fault == 0 {
            Ok(value)
        } else {
            Err(AccessError::Fault)
        }
    }

    fn write(&self, _: StrandId, address: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        // SAFETY: as above.
        let fault = unsafe { sun4v_store(address.0, value) };
        if fault == 0 {
            Ok(())
        } else {
            Err(AccessError::Fault)
        }
    }

    fn is_direct() -> bool {
        true
    }

    #[inline(always)]
    fn complete_writes(&self, _: StrandId) {
        // SAFETY: a barrier changes no register and no memory. It is the compiler's barrier too.
        unsafe { asm!("membar #Sync", options(nostack, preserves_flags)) };
    }
}
