//! Store buffers: a strand's stores wait until the caller completes them.
//!
//! Other strands see a store to memory, and a device receives a store, only when the store completes. So a test can try every order that
//! the processor allows. The rules are those of total store order (The SPARC Architecture Manual, Version 9, section 8.4.4 and appendix D;
//! UltraSPARC Architecture 2007, chapter 9):
//! - A strand's stores to memory complete in the order in which the strand issues them.
//! - A load does not wait for the strand's earlier stores to other addresses. It finds the strand's own waiting stores.
//! - An atomic instruction is a load and a store with nothing in between, so it first completes the strand's stores to memory.
//! - `membar` completes the strand's stores to memory if its mask has #StoreLoad, #MemIssue or #Sync. #LoadLoad, #LoadStore and #StoreStore
//!   have no effect, because total store order guarantees these orders anyway. #Lookaside orders only loads of the strand's own stores.
//! - Stores to devices and stores to memory do not wait for each other. Stores to devices complete in order. `membar` completes these
//!   stores if its mask has #MemIssue or #Sync. A load from a device completes the strand's stores to this device.
//!
//! The UltraSPARC User's Manual, section 5.3.2, says which masks order stores to devices with stores to memory. It is *assumed* that the
//! UltraSPARC T2 Plus needs these masks under total store order, although the UltraSPARC I itself lets no store to memory overtake a store
//! to a device (section 15.2.1).
//!
//! *Assumed*: a trap, an interrupt and an access to a register in an alternate space complete nothing. A fetch finds only completed stores.

use std::collections::VecDeque;

/// Bits of `membar`'s mask. The first bit is in mmask, and the other bits are in cmask.
const STORE_LOAD: u8 = 1 << 1;
const MEM_ISSUE: u8 = 1 << 5;
const SYNC: u8 = 1 << 6;

/// Returns whether a `membar` with this mask completes the strand's stores to memory, and whether it completes the strand's stores to
/// devices.
#[must_use]
pub const fn completes(membar: u8) -> [bool; 2] {
    let devices = membar & (MEM_ISSUE | SYNC) != 0;
    [devices || membar & STORE_LOAD != 0, devices]
}

/// A store that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferedStore {
    /// The physical address.
    pub address: u64,
    /// The binary logarithm of the number of bytes.
    pub shift: u8,
    /// The stored bytes as a big-endian number.
    pub value: u64,
}

/// A strand's waiting stores, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoreBuffer {
    /// The stores to memory, which complete in order.
    pub memory: VecDeque<BufferedStore>,
    /// The stores to devices, except stores to consoles, which complete immediately.
    pub devices: VecDeque<BufferedStore>,
}

/// Where a store goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Target {
    Memory,
    Device,
}

impl StoreBuffer {
    /// Returns whether the buffer is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.devices.is_empty()
    }

    /// Returns the value that the strand itself loads from an address: the memory content `value`, overwritten by the strand's waiting
    /// stores.
    pub(super) fn forwarded(&self, address: u64, shift: u8, value: u64) -> u64 {
        let mut bytes = value.to_be_bytes();
        let first = 8 - (1 << shift);
        for store in &self.memory {
            let stored = store.value.to_be_bytes();
            for (at, byte) in (store.address..).zip(&stored[8 - (1 << store.shift)..]) {
                if let Some(byte_of_load) = at
                    .checked_sub(address)
                    .and_then(|at| bytes[first..].get_mut(usize::try_from(at).ok()?))
                {
                    *byte_of_load = *byte;
                }
            }
        }
        u64::from_be_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_finds_the_newest_bytes_that_wait() {
        let store = |address, shift, value| BufferedStore { address, shift, value };
        // Memory holds the bytes 00 to 07 at address 0x1000. Two stores wait: first a halfword at 0x1002, then a byte at 0x1003.
        let memory = [store(0x1002, 1, 0xc2c3), store(0x1003, 0, 0xb3)].into();
        let buffer = StoreBuffer { memory, devices: VecDeque::new() };
        let loads = [
            (0x1000, 3, 0x0001_0203_0405_0607, 0x0001_c2b3_0405_0607),
            (0x1000, 2, 0x0001_0203, 0x0001_c2b3),
            (0x1004, 2, 0x0405_0607, 0x0405_0607),
            (0x1002, 1, 0x0203, 0xc2b3),
            (0x1000, 1, 0x0001, 0x0001),
            (0x1003, 0, 0x03, 0xb3),
            (0x1002, 0, 0x02, 0xc2),
        ];
        for (address, shift, before, found) in loads {
            assert_eq!(buffer.forwarded(address, shift, before), found, "{address:#x} {shift}");
        }
        // A store of eight bytes covers smaller loads within it.
        let buffer =
            StoreBuffer { memory: [store(0x1000, 3, 0x1011_1213_1415_1617)].into(), ..buffer };
        assert_eq!(buffer.forwarded(0x1006, 1, 0x0607), 0x1617);
        assert_eq!(buffer.forwarded(0x1008, 3, 7), 7);
        assert_eq!(buffer.forwarded(0x0ff8, 3, 7), 7);
    }
}
