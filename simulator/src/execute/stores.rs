//! Stores to devices, which complete after the strand has gone on.
//!
//! A strand's stores complete in their order, without any order against stores of other strands or accesses to memory. `membar #Sync`
//! waits for all of them, and a load waits for the stores to the same device. A store that fails traps with store_error when it
//! completes. The processor reports it as the UltraSPARC T2 does: the deferred error status register (DFESR) names the entry of the
//! store buffer, and a diagnostic read of the entry returns the address.

use guest_abi::StrandId;
use platform::models::Devices;
use platform::{AccessError, Bus, PhysicalAddress};

use crate::machine::clock::access_cycles;

/// A store that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LateStore {
    pub(super) address: u64,
    pub(super) value: u64,
    shift: u8,
    /// The time at which the store completes.
    pub(super) completes: u64,
}

/// The cycles from the issue of an access to its arrival at the device. *Assumed*.
pub(super) const ON_ITS_WAY: u64 = 80;

/// The entries of the store buffer of the UltraSPARC T2. A further store waits until one completes.
pub(super) const MOST: usize = 8;

/// The alternate space, and the address in it, of the deferred error status register.
pub(super) const DFESR: (u8, u64) = (0x4c, 8);

/// The space of diagnostic reads of the store buffer, and the address of entry 0.
pub(super) const STORE_BUFFER: (u8, u64) = (0x4a, 0xc0);

impl LateStore {
    /// Returns a store that is issued now, after an earlier store that completes at the time `after`.
    pub(super) fn new(address: u64, shift: u8, value: u64, now: u64, after: u64) -> Self {
        let takes = ON_ITS_WAY + access_cycles(PhysicalAddress(address));
        Self { address, value, shift, completes: (now + takes).max(after + 1) }
    }

    /// Completes the store. It fails unless it has 64 bits, the size of every register of a device.
    pub(super) fn complete(&self, strand: StrandId, devices: &Devices) -> Result<(), AccessError> {
        match self.shift {
            3 => devices.write(strand, PhysicalAddress(self.address), self.value),
            _ => Err(AccessError::Fault),
        }
    }

    /// Returns whether an address belongs to the same device: to the same page of registers, or to the same hub.
    pub(super) const fn is_same_device(&self, address: u64) -> bool {
        let shift = match address >> 32 {
            0xe1 | 0xe5 | 0xe9 | 0xed => 32,
            _ => 12,
        };
        self.address >> shift == address >> shift
    }

    /// The value of DFESR after a failed store: the type SBDIOU in bits 61:60, and entry 0 in bits 57:55.
    pub(super) const STATUS: u64 = 1 << 60;

    /// Returns the entry of the store buffer: the address, and marks of eight bytes.
    pub(super) const fn entry(&self) -> u64 {
        self.address & ((1 << 40) - 1) | 0xff << 40
    }
}
