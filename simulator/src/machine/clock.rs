//! The clock of the simulated machine.

use std::cell::Cell;

use guest_abi::{Clock, StrandId};
use platform::models::Devices;
use platform::{AccessError, Bus, PhysicalAddress};

/// The number of clock ticks in a second. A tick is a cycle.
pub const HZ: u64 = 1_165_379_275;

/// The number of cycles that a hypercall takes in a replay.
pub const HYPERCALL_CYCLES: u64 = 60;

/// The number of cycles that a read of the clock takes.
const READ: u64 = 10;

/// Returns the number of cycles that an access takes. An access to an L2 control register takes a single cycle, because a call makes
/// up to 23 such accesses and must end within [`HYPERCALL_CYCLES`]. Other accesses take longer. Among them, accesses to the DRAM
/// channels of the strand's own node take the least time, accesses to other nodes' channels take more, and accesses to hubs take the
/// most.
pub(crate) fn access_cycles(address: PhysicalAddress) -> u64 {
    match address.0 >> 32 {
        0xa9 => 1,
        0x84 => 8,
        0xd0 | 0xd4 | 0xd8 | 0xdc => 16,
        _ => 24,
    }
}

/// The machine's clock, which never goes back. In a replay, the clock follows the program's earliest strand. Each hypercall advances
/// the clock by [`HYPERCALL_CYCLES`].
///
/// Within a call, clock reads and device accesses advance the clock, but not beyond the end of the call. The clock is also the
/// hypervisor's bus, so all these accesses go through the clock. The devices hold the time ([`Devices::now`]).
#[derive(Debug)]
pub struct MachineClock<'a> {
    devices: &'a Devices,
    /// When the current call ends. Outside a call, when the latest call ended.
    call_ends: Cell<u64>,
}

impl<'a> MachineClock<'a> {
    pub(crate) fn new(devices: &'a Devices) -> Self {
        Self { devices, call_ends: Cell::new(0) }
    }

    pub(crate) fn now(&self) -> u64 {
        self.devices.now()
    }

    /// Executes `work` as a hypercall that takes [`HYPERCALL_CYCLES`].
    pub(crate) fn call<R>(&self, work: impl FnOnce() -> R) -> R {
        self.call_ends.set(self.now() + HYPERCALL_CYCLES);
        let result = work();
        self.pass(HYPERCALL_CYCLES);
        result
    }

    /// Advances the clock, but not beyond the end of the current call.
    fn pass(&self, cycles: u64) {
        let left = self.call_ends.get().saturating_sub(self.now());
        self.devices.advance(cycles.min(left));
    }
}

impl Clock for MachineClock<'_> {
    fn ticks(&self) -> u64 {
        self.pass(READ);
        self.now()
    }
}

impl Bus for MachineClock<'_> {
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        self.pass(access_cycles(at));
        self.devices.read(strand, at)
    }

    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        self.pass(access_cycles(at));
        self.devices.write(strand, at, value)
    }
}

#[cfg(test)]
mod tests {
    use platform::address;
    use platform::{Machine, Model};

    use super::*;

    #[test]
    fn only_advances() {
        let devices = Devices::new(Machine::new(Model::Batoka, 1).unwrap());
        let clock = MachineClock::new(&devices);
        let strand = StrandId::new(0).unwrap();
        assert_eq!((clock.ticks(), clock.ticks()), (0, 0), "outside of calls");
        clock.call(|| {
            assert_eq!((clock.ticks(), clock.ticks()), (10, 20));
            clock.read(strand, address::l2_control(0).unwrap()).unwrap();
            assert_eq!(clock.ticks(), 31);
            (0..10).for_each(|_| assert!(clock.ticks() <= 60));
            assert_eq!(clock.ticks(), 60);
        });
        devices.advance(1000);
        assert_eq!(clock.ticks(), 1060);
        clock.call(|| assert_eq!(clock.ticks(), 1070));
        assert_eq!(clock.now(), 1120);
    }
}
