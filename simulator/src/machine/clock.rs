//! The clock of the simulated machine, as its hypervisor reads it in a hypercall.

use std::cell::Cell;

use guest_abi::{Clock, StrandId};
use platform::models::Devices;
use platform::{AccessError, Bus, PhysicalAddress};

use crate::machine::board::HYPERCALL_CYCLES;
use crate::memory::MemorySystem;

/// Ticks of the clock in a second: one a cycle.
pub const HZ: u64 = 1_165_379_275;

/// Cycles from one look at the clock to the next, the first in a call and the trap included.
const LOOK: u64 = 10;

/// Cycles of an access: to an L2 control register, of which a call has up to 24; to a DRAM channel of the strand's own node,
/// and of another; to a hub.
fn access_cycles(address: PhysicalAddress) -> u64 {
    match address.0 >> 32 {
        0xa9 => 1,
        0x84 => 8,
        0xd0 | 0xd4 | 0xd8 | 0xdc => 16,
        _ => 24,
    }
}

/// The time of the machine: that of the memory system, and [`HYPERCALL_CYCLES`] for each hypercall until now.
///
/// Within a call, time passes at each look and with each access, and never beyond the call's own cycles, so that the clock
/// does not go back at the next one. It is also the bus, on which it sees the accesses.
pub struct MachineTime<'a> {
    devices: &'a Devices,
    /// Cycles that references took.
    memory: Cell<u64>,
    /// Cycles of all hypercalls, the present one not included.
    calls: Cell<u64>,
    /// Cycles of the present one.
    passed: Cell<u64>,
}

impl<'a> MachineTime<'a> {
    /// Time 0.
    #[must_use]
    pub fn new(devices: &'a Devices) -> Self {
        Self {
            devices,
            memory: Cell::new(0),
            calls: Cell::new(0),
            passed: Cell::new(0),
        }
    }

    /// References were replayed.
    pub fn replayed(&self, memory: &MemorySystem) {
        self.memory.set(memory.now());
    }

    /// A hypercall ended.
    pub fn called(&self) {
        self.calls.set(self.calls.get() + HYPERCALL_CYCLES);
        self.passed.set(0);
    }

    fn pass(&self, cycles: u64) {
        self.passed
            .set((self.passed.get() + cycles).min(HYPERCALL_CYCLES));
    }
}

impl Clock for MachineTime<'_> {
    fn ticks(&self) -> u64 {
        self.pass(LOOK);
        self.memory.get() + self.calls.get() + self.passed.get()
    }
}

impl Bus for MachineTime<'_> {
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        self.pass(access_cycles(address));
        self.devices.read(strand, address)
    }

    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        self.pass(access_cycles(address));
        self.devices.write(strand, address, value)
    }
}

#[cfg(test)]
mod tests {
    use platform::address;
    use platform::{Machine, Model};

    use super::*;

    #[test]
    fn never_goes_back() {
        let devices = Devices::new(Machine::new(Model::Batoka, 1).unwrap());
        let time = MachineTime::new(&devices);
        let strand = StrandId::new(0).unwrap();
        assert_eq!((time.ticks(), time.ticks()), (10, 20));
        time.read(strand, address::l2_control(0).unwrap()).unwrap();
        assert_eq!(time.ticks(), 31);
        (0..10).for_each(|_| assert!(time.ticks() <= 60));
        assert_eq!(time.ticks(), 60);
        time.called();
        assert_eq!(time.ticks(), 70);
    }
}
