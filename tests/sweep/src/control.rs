//! Changes between calls. In a hypervisor that is built for it a guest makes them by a call of its own.

use guest_abi::Registers;
use hv_core::{Caller, Embedder, GuestId, Hypervisor};
use perfctr_service::{PerfCounterService, Unit};
use platform::models::{Devices, FaultyUnit};

use crate::scenario::strand;

/// The function number of a change, which is none of the specification.
pub const FUNCTION: u64 = 0x5eed_c0de;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Calls come from this guest, and from its strand on this node.
    Caller(u64, u64),
    /// A unit faults from now on.
    Fault(u64),
    /// A unit works again and is in service.
    Mend(u64),
    /// A guest starts again.
    Reset(u64),
    /// An access to a hub takes so long.
    HubCycles(u64),
}

impl Control {
    /// The registers of the call.
    pub fn registers(self) -> Registers {
        let (kind, a, b) = match self {
            Self::Caller(guest, node) => (0, guest, node),
            Self::Fault(unit) => (1, unit, 0),
            Self::Mend(unit) => (2, unit, 0),
            Self::Reset(guest) => (3, guest, 0),
            Self::HubCycles(cycles) => (4, cycles, 0),
        };
        Registers::call(FUNCTION, [kind, a, b, 0, 0])
    }

    /// The change that a call asks for.
    pub fn from_registers(registers: &Registers) -> Option<Self> {
        let (a, b) = (registers.o1, registers.o2);
        match registers.o0 {
            0 => Some(Self::Caller(a, b)),
            1 => Some(Self::Fault(a)),
            2 => Some(Self::Mend(a)),
            3 => Some(Self::Reset(a)),
            4 => Some(Self::HubCycles(a)),
            _ => None,
        }
    }
}

type Service<'a> = PerfCounterService<&'a Devices, &'a Devices>;

/// Makes a change.
#[inline(never)]
pub fn apply<E: Embedder>(
    control: Control,
    hypervisor: &Hypervisor<(Service<'_>,), E>,
    caller: &mut Caller,
) {
    let (service,) = hypervisor.services();
    let devices = *service.bus();
    match control {
        Control::Caller(guest, node) => {
            let node = node as usize % devices.machine().nodes();
            let number = guest as usize;
            if let (Some(guest), Some(strand)) = (GuestId::new(number), strand(number, node)) {
                *caller = Caller { guest, strand };
            }
        }
        Control::Fault(number) => {
            if let Some(unit) = Unit::all().nth(number as usize) {
                devices.set_faulty(faulty(unit), true);
            }
        }
        Control::Mend(number) => {
            if let Some(unit) = Unit::all().nth(number as usize) {
                devices.set_faulty(faulty(unit), false);
                service.return_to_service(unit);
            }
        }
        Control::Reset(guest) => {
            if let Some(guest) = GuestId::new(guest as usize) {
                hypervisor.reset_guest(guest);
            }
        }
        Control::HubCycles(cycles) => {
            devices.set_hub_access_cycles(cycles);
            devices.set_time(devices.now() + 1000);
        }
    }
}

fn faulty(unit: Unit) -> FaultyUnit {
    match unit {
        Unit::Mcu(node, mcu) => FaultyUnit::Mcu(node, mcu),
        Unit::Hub(hub) => FaultyUnit::Hub(hub),
        Unit::L2(node) => FaultyUnit::L2(node),
    }
}
