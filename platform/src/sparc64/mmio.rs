//! Device registers by physical address.
#![allow(unsafe_code)]

use core::arch::asm;

use guest_abi::StrandId;

use crate::ptimer::{PtimerRegisters, Register};
use crate::{AccessError, Bus, PhysicalAddress};

/// The machine's own bus. Addresses are physical, because hyperprivileged code runs with the MMU off. Bit 39 means "not cached".
///
/// `read` and `write` return when the access is complete, with [`AccessError::Fault`] if it trapped. A fast path in assembly uses
/// neither, and may end before its store is complete: see [late faults](super#late-faults).
///
/// A strand of an UltraSPARC T2 Plus waits for the value of a load before it executes anything else, so a read is complete when
/// it returns. The strand does not wait for a store, so `write` and `complete_writes` contain a `membar #Sync`, which waits.
#[derive(Clone, Copy, Debug)]
pub struct Mmio(());

#[repr(C)]
struct LoadResult {
    fault: u64,
    value: u64,
}

unsafe extern "C" {
    fn sun4v_load(address: u64) -> LoadResult;
    fn sun4v_store(address: u64, value: u64) -> u64;
    fn sun4v_load_word(address: u64) -> LoadResult;
    fn sun4v_store_word(address: u64, value: u64) -> u64;
}

/// Turns the assembly code's answer into a result. `fault` is 0 unless the access trapped.
#[inline(always)]
fn access_result<T>(fault: u64, value: T) -> Result<T, AccessError> {
    match fault {
        0 => Ok(value),
        _ => Err(AccessError::Fault),
    }
}

impl Mmio {
    /// Returns the bus, whose reads and writes access the processor's physical addresses.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode with the MMU off, and accesses device registers only.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

impl Bus for Mmio {
    fn read(&self, _: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        // SAFETY: the caller of `new` promises a device register at the address; `sun4v_load` returns after a trap.
        let LoadResult { fault, value } = unsafe { sun4v_load(address.0) };
        access_result(fault, value)
    }

    fn write(&self, _: StrandId, address: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        // SAFETY: the caller of `new` promises a device register at the address; `sun4v_store` returns after a trap.
        access_result(unsafe { sun4v_store(address.0, value) }, ())
    }

    fn is_direct() -> bool {
        true
    }

    #[inline(always)]
    fn complete_writes(&self, _: StrandId) {
        // SAFETY: a barrier changes no register and no memory. It is also a barrier for the compiler.
        unsafe { asm!("membar #Sync", options(nostack, preserves_flags)) };
    }
}

/// A PTIMER in the machine's own address space. Its registers have 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct PtimerMmio {
    registers: u64,
}

impl PtimerMmio {
    /// Returns the timer whose register space begins at a physical address.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode with the MMU off. Only the timer is at these addresses, or nothing.
    pub const unsafe fn new(registers: u64) -> Self {
        Self { registers }
    }

    fn address(&self, register: Register) -> u64 {
        self.registers + u64::from(register.offset())
    }
}

impl PtimerRegisters for PtimerMmio {
    fn read(&self, register: Register) -> Result<u32, AccessError> {
        // SAFETY: the caller of `new` promises that no other device is at the address; `sun4v_load_word` returns after a trap.
        let LoadResult { fault, value } = unsafe { sun4v_load_word(self.address(register)) };
        access_result(fault, value as u32)
    }

    fn write(&self, register: Register, value: u32) -> Result<(), AccessError> {
        // SAFETY: the caller of `new` promises that no other device is at the address; `sun4v_store_word` returns after a trap.
        access_result(unsafe { sun4v_store_word(self.address(register), value.into()) }, ())
    }
}
