//! How the UltraSPARC T2 reports a store that fails after the strand has gone on.
#![allow(unsafe_code)]

use core::arch::asm;

use crate::PhysicalAddress;

/// The type of the trap store_error. It is deferred: the strand may have executed other instructions after the store.
const STORE_ERROR: u64 = 0x07;
/// The deferred error status register (DFESR): its ASI and its address. The type of the error is in bits 61:60, and the store's
/// entry of the store buffer in bits 57:55. A read clears the register.
const DFESR: (usize, u64) = (0x4c, 8);
/// The type SBDIOU: the data of a store to a device could not be sent. (2 is SBAPP: the address in the entry cannot be trusted.)
const SBDIOU: u64 = 1;
/// Diagnostic reads of the store buffer: their ASI, and the address for entry 0. A read returns the entry's physical address in bits
/// 39:0 and its byte marks in bits 47:40. The number of an entry is in bits 5:3 of the address.
const STORE_BUFFER: (usize, u64) = (0x4a, 0xc0);

/// Returns the address of the store that a trap of this type (%tt) reports on the UltraSPARC T2, if any. For hyperprivileged code.
///
/// Sun's hypervisor and OpenSPARC T2 use these registers. QEMU does not have them, and the registers of the UltraSPARC T2 Plus are
/// not published: this function has been executed on neither.
#[must_use]
pub fn store_error(trap_type: u64) -> Option<PhysicalAddress> {
    if trap_type != STORE_ERROR {
        return None;
    }
    let status = read::<{ DFESR.0 }>(DFESR.1);
    if status >> 60 & 3 != SBDIOU {
        return None;
    }
    let entry = status >> 55 & 7;
    let store = read::<{ STORE_BUFFER.0 }>(STORE_BUFFER.1 | entry << 3);
    Some(PhysicalAddress(store & ((1 << 40) - 1)))
}

/// Reads a register of the processor.
fn read<const ASI: usize>(address: u64) -> u64 {
    let value;
    // SAFETY: these registers only describe errors, and code that may not read them traps.
    unsafe {
        asm!("ldxa [{address}] {ASI}, {value}", address = in(reg) address, value = out(reg) value, ASI = const ASI,
            options(nostack, preserves_flags));
    }
    value
}
