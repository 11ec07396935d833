//! Stores to devices, which complete while the strand executes further instructions.
//!
//! A strand's stores complete in order, but not in order with other strands' stores or with memory accesses. `membar #Sync` waits for
//! all of the strand's stores, and a load waits for the strand's stores to the same device. A store that fails traps with store_error
//! when it completes. The processor reports the failed store as the UltraSPARC T2 does: the deferred error status register (DFESR) names
//! the store buffer entry, and a diagnostic read of the entry returns the address.
//!
//! *Assumed*: if another store fails before DFESR is read, DFESR reports only the later store, and there is no second trap. If the type
//! in DFESR is SBAPP, the address is unknown.

use guest_abi::StrandId;
use platform::models::Devices;
use platform::{AccessError, Bus, PhysicalAddress};

use super::effects::Effect;
use super::ptimer::{self, Ptimer};
use crate::machine::clock::access_cycles;

/// A store that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingStore {
    pub(super) address: u64,
    pub(super) value: u64,
    shift: u8,
    /// The store's entry in the store buffer.
    entry: u64,
    /// When the store completes, in cycles since the machine started.
    pub(super) completes: u64,
}

/// The number of cycles that an access takes to reach the device. *Assumed*.
pub(super) const DEVICE_LATENCY: u64 = 80;

/// The number of stores that the UltraSPARC T2's store buffer holds. If the buffer is full, the next store waits.
pub(super) const MAX_STORES: usize = 8;

/// The ASI and the address of the deferred error status register.
pub(super) const DFESR: (u8, u64) = (0x4c, 8);

/// The ASI for diagnostic reads of the store buffer, and entry 0's address. Address bits 5:3 select the entry.
pub(super) const STORE_BUFFER: (u8, u64) = (0x4a, 0xc0);
pub(super) const SELECTS: u64 = 0x38;

/// The number of cycles from the issue of a store to its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreLatency {
    /// Each store takes as many cycles as an access to the device, including the way there.
    #[default]
    AsDevice,
    /// Each store takes this number of cycles.
    Fixed(u64),
    /// Each store takes a random number of cycles, from 1 to `longest`.
    Random {
        /// The random number generator's state. Any number can be the seed.
        state: u64,
        /// The maximum number of cycles, at least 1.
        longest: u64,
    },
}

impl StoreLatency {
    /// Returns the next store's latency. `as_device` is the number of cycles that an access to the device takes.
    fn next(&mut self, as_device: u64) -> u64 {
        match self {
            Self::AsDevice => as_device,
            Self::Fixed(cycles) => *cycles,
            Self::Random { state, longest } => {
                // This is Knuth's linear congruential generator.
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                1 + (*state >> 33) % *longest
            }
        }
    }
}

/// How stores to devices behave. Tests change this to see what happens when stores fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreBehaviour {
    /// The number of cycles from a store's issue to its completion.
    pub latency: StoreLatency,
    /// Whether a failed store is reported without its address.
    pub without_address: bool,
}

impl StoreBehaviour {
    /// Returns the value of DFESR for a failed store: SBDIOU or SBAPP in bits 61:60, and the store buffer entry in bits 57:55.
    pub(super) const fn status(self, store: &PendingStore) -> u64 {
        let error = if self.without_address { 2 } else { 1 };
        error << 60 | store.entry << 55
    }
}

impl PendingStore {
    /// Returns a store that is issued at `now` into entry `entry`. The store completes after the previous store, which completes at
    /// `after`.
    pub(super) fn new(
        (address, shift, value): (u64, u8, u64),
        entry: u64,
        conduct: &mut StoreBehaviour,
        now: u64,
        after: u64,
    ) -> Self {
        let takes = conduct.latency.next(DEVICE_LATENCY + access_cycles(PhysicalAddress(address)));
        let completes = (now + takes).max(after + 1);
        Self { address, value, shift, entry, completes }
    }

    /// Returns a store that completes at the time `now`.
    pub(super) const fn at(now: u64, (address, shift, value): (u64, u8, u64), entry: u64) -> Self {
        Self { address, value, shift, entry, completes: now }
    }

    /// Returns a failed 64-bit store.
    pub(super) const fn failed(address: u64, entry: u64) -> Self {
        Self { address, value: 0, shift: 3, entry, completes: 0 }
    }

    /// Completes the store at the time `now`. A store of fewer than 64 bits fails unless it is to the PTIMER, because all registers of
    /// the other devices have 64 bits.
    pub(super) fn complete(
        &self,
        strand: StrandId,
        devices: &Devices,
        ptimer: &mut Ptimer,
        effects: &mut Vec<Effect>,
        now: u64,
    ) -> Result<(), AccessError> {
        let Self { address, shift, value, .. } = *self;
        match shift {
            _ if ptimer::has(address) => ptimer.write((address, shift, value), now, effects),
            3 => devices.write(strand, PhysicalAddress(address), value),
            _ => Err(AccessError::Fault),
        }
    }

    pub(super) const fn is_same_device(&self, address: u64) -> bool {
        is_same_device(self.address, address)
    }
}

/// Returns whether two addresses are in the same register page, or in the same hub.
pub(super) const fn is_same_device(one: u64, other: u64) -> bool {
    let shift = match other >> 32 {
        0xe1 | 0xe5 | 0xe9 | 0xed => 32,
        _ => 12,
    };
    one >> shift == other >> shift
}

/// A strand's store buffer, as a ring of entries. It holds the addresses of the latest stores to devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    addresses: [u64; MAX_STORES],
    issued: u64,
}

impl Entries {
    /// Puts a store that is issued now into the next entry. Returns the entry.
    pub(super) const fn take(&mut self, address: u64) -> u64 {
        let entry = self.issued % MAX_STORES as u64;
        self.addresses[entry as usize] = address;
        self.issued += 1;
        entry
    }

    /// Returns the value of a diagnostic read: an entry's address, and a mark for each of the eight stored bytes. Bits 5:3 of `selects`
    /// select the entry.
    pub(super) const fn read(&self, selects: u64) -> u64 {
        self.addresses[(selects & SELECTS) as usize >> 3] & ((1 << 40) - 1) | 0xff << 40
    }
}
