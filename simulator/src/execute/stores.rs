//! Stores to devices, which complete after the strand has gone on.
//!
//! A strand's stores complete in their order, without any order against stores of other strands or accesses to memory. `membar #Sync`
//! waits for all of them, and a load waits for the stores to the same device. A store that fails traps with store_error when it
//! completes. The processor reports it as the UltraSPARC T2 does: the deferred error status register (DFESR) names the entry of the
//! store buffer, and a diagnostic read of the entry returns the address.
//!
//! *Assumed*: if another store fails before DFESR is read, the register keeps only the later one, and there is no second trap. With
//! the type SBAPP in DFESR the address is unknown.

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
    /// The store's entry of the store buffer.
    entry: u64,
    /// The time at which the store completes.
    pub(super) completes: u64,
}

/// The cycles from the issue of an access to its arrival at the device. *Assumed*.
pub(super) const ON_ITS_WAY: u64 = 80;

/// The entries of the store buffer of the UltraSPARC T2. A further store waits until one completes.
pub(super) const MOST: usize = 8;

/// The alternate space, and the address in it, of the deferred error status register.
pub(super) const DFESR: (u8, u64) = (0x4c, 8);

/// The space of diagnostic reads of the store buffer, the address of entry 0, and the bits of the address that select an entry.
pub(super) const STORE_BUFFER: (u8, u64) = (0x4a, 0xc0);
pub(super) const SELECTS: u64 = 0x38;

/// The cycles from the issue of a store to its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreLatency {
    /// Those of the device.
    #[default]
    AsDevice,
    /// This number for each store.
    Fixed(u64),
    /// A number from 1 to `longest` for each store, which the state of a generator draws.
    Drawn {
        /// The state: any number.
        state: u64,
        /// The greatest number, at least 1.
        longest: u64,
    },
}

impl StoreLatency {
    /// Returns the latency of the next store.
    fn next(&mut self, as_device: u64) -> u64 {
        match self {
            Self::AsDevice => as_device,
            Self::Fixed(cycles) => *cycles,
            Self::Drawn { state, longest } => {
                // Knuth's linear congruential generator.
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                1 + (*state >> 33) % *longest
            }
        }
    }
}

/// How stores to devices go, for tests of what happens when they fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreConduct {
    /// The cycles from the issue of a store to its completion.
    pub latency: StoreLatency,
    /// The report of a store that has failed has no address.
    pub without_address: bool,
}

impl StoreConduct {
    /// Returns what DFESR has of a store that has failed: the type in bits 61:60, SBDIOU or SBAPP, and the entry in bits 57:55.
    pub(super) const fn status(self, store: &LateStore) -> u64 {
        let error = if self.without_address { 2 } else { 1 };
        error << 60 | store.entry << 55
    }
}

impl LateStore {
    /// Returns a store that is issued now into an entry, and takes a time, after another that completes at the time `after`.
    pub(super) fn new(
        (address, shift, value): (u64, u8, u64),
        entry: u64,
        conduct: &mut StoreConduct,
        now: u64,
        after: u64,
    ) -> Self {
        let takes = conduct.latency.next(ON_ITS_WAY + access_cycles(PhysicalAddress(address)));
        let completes = (now + takes).max(after + 1);
        Self { address, value, shift, entry, completes }
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
}

/// The addresses of a strand's latest stores to devices, in the entries of the store buffer, which the stores take in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    addresses: [u64; MOST],
    issued: u64,
}

impl Entries {
    /// Returns the entry of a store that is issued now.
    pub(super) const fn take(&mut self, address: u64) -> u64 {
        let entry = self.issued % MOST as u64;
        self.addresses[entry as usize] = address;
        self.issued += 1;
        entry
    }

    /// Returns what a diagnostic read returns: the address in the entry that bits 5:3 select, and marks of eight bytes.
    pub(super) const fn read(&self, selects: u64) -> u64 {
        self.addresses[(selects & SELECTS) as usize >> 3] & ((1 << 40) - 1) | 0xff << 40
    }
}
