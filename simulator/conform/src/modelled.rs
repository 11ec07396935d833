//! The service on devices that the sweep can change. On the host, the devices are models; in an image, they are models or words of memory.

use guest_abi::{Hub, HubRole, HubUnit, Hypercall, Node, RegisterKind, Registers, StrandId, Trap};
use hv_core::trace::{NoTrace, Trace};
use hv_core::{Caller, Embedder, GuestId, Hypervisor, NoConsole, Service, Services};
use perfctr_service::{ConfigError, Environment, PerfCounterService, Unit};
use platform::StrandRegisters;
use platform::models::{Devices, FaultyUnit};

use crate::configuration::GUESTS;
use crate::{Cell, Change, Configuration, System, state};

/// Devices that the sweep can change and inspect.
pub trait Hardware {
    /// Makes the hubs in `busy` answer "busy" to every access. The other hubs serve every access. A hub that faults is not busy.
    fn occupy_hubs(&self, busy: [bool; Hub::ALL.len()]);

    /// Makes a unit fault, or work again.
    fn set_faulty(&self, unit: FaultyUnit, faulty: bool);

    /// Stores a value in a register, which must neither fault nor be busy.
    fn put(&self, cell: Cell, value: u64);

    /// Returns the contents of a register; `None` if it faults or is busy.
    fn holds(&self, cell: Cell) -> Option<u64>;

    fn pcr_of(&self, strand: StrandId) -> u64;

    /// Takes a strand's pending cross-call. Returns `false` if none is pending.
    fn take_cross_call(&self, strand: StrandId) -> bool;
}

/// The length of a hub access that does not end during the sweep, in cycles.
const LONG: u64 = 1 << 40;

/// The number of rounds in which all strands take their cross-calls after a change. A transfer needs fewer.
const ROUNDS: usize = 4;

/// A hypervisor's services. The first is the performance counter service.
pub trait Swept: Services {
    type Environment: Environment<Bus: Hardware>;

    fn counters(&self) -> &PerfCounterService<Self::Environment>;
}

impl<N: Environment<Bus: Hardware>> Swept for (PerfCounterService<N>,) {
    type Environment = N;

    fn counters(&self) -> &PerfCounterService<N> {
        &self.0
    }
}

impl<N: Environment<Bus: Hardware>, A: Service, B: Service, C: Service> Swept
    for (PerfCounterService<N>, A, B, C)
{
    type Environment = N;

    fn counters(&self) -> &PerfCounterService<N> {
        &self.0
    }
}

/// A machine and its state in the sweep.
pub struct Modelled<'a, S: Services, E, T = NoTrace> {
    pub hypervisor: &'a Hypervisor<S, E, T>,
    pub configuration: Configuration,
    pub busy: [bool; Hub::ALL.len()],
}

impl<S: Swept, E: Embedder, T: Trace> Modelled<'_, S, E, T> {
    fn service(&self) -> &PerfCounterService<S::Environment> {
        self.hypervisor.services().counters()
    }

    fn hardware(&self) -> &<S::Environment as Environment>::Bus {
        self.service().bus()
    }

    /// Lets all strands take their cross-calls. A transfer of rights needs one round for the strands' registers, and one round for the L2
    /// control.
    #[inline(always)]
    fn take_cross_calls(&self) {
        for _ in 0..ROUNDS {
            for strand in (0..StrandId::COUNT).filter_map(StrandId::new) {
                if self.hardware().take_cross_call(strand) {
                    self.service().cross_called(strand);
                }
            }
        }
    }

    #[inline(always)]
    fn return_to_service(&self, unit: Unit) {
        let on = match unit {
            Unit::L2(node) => node,
            Unit::Mcu(..) | Unit::Hub(_) => Node::Node0,
        };
        if let Some(on) = first_strand(on) {
            // If the unit cannot be scrubbed, it stays out of service.
            let _ = self.service().return_to_service(on, unit);
        }
        self.take_cross_calls();
    }

    #[inline(always)]
    fn repair(&mut self) {
        for unit in Unit::ALL.iter().copied() {
            self.hardware().set_faulty(faulty(unit), false);
        }
        self.busy = [false; Hub::ALL.len()];
        self.hardware().occupy_hubs(self.busy);
    }
}

impl Hardware for &Devices {
    /// Ends all hub accesses. Then begins a long access to each hub that `busy` selects, so that the hub stays busy.
    #[inline(always)]
    fn occupy_hubs(&self, busy: [bool; Hub::ALL.len()]) {
        self.advance(LONG);
        let now = self.now();
        for (hub, busy) in Hub::ALL.iter().zip(busy) {
            let mut hub = self.hub(*hub);
            if busy {
                hub.set_access_cycles(LONG);
                // A hub that faults is not busy.
                let _ = hub.read(HubUnit::LpuA, HubRole::Pcr, now);
                hub.set_access_cycles(0);
            }
        }
    }

    fn set_faulty(&self, unit: FaultyUnit, faulty: bool) {
        (**self).set_faulty(unit, faulty);
    }

    #[inline(always)]
    fn put(&self, cell: Cell, value: u64) {
        // The store cannot fail, because the sweep does not store to registers that fault or are busy.
        let _ = match cell {
            Cell::L2(node, bank) => self.l2(node).write(bank, value),
            Cell::Register(register) => match register.kind() {
                RegisterKind::Dram { node, mcu, role } => {
                    self.memory_controller(node, mcu).write(role, value)
                }
                RegisterKind::Hub { hub, unit, role } => {
                    let mut hub = self.hub(hub);
                    hub.write(unit, role, value, self.now())
                }
                RegisterKind::Strand | RegisterKind::L2 => Ok(()),
            },
        };
    }

    fn holds(&self, cell: Cell) -> Option<u64> {
        let held = match cell {
            Cell::L2(node, bank) => self.l2(node).read(bank),
            Cell::Register(register) => match register.kind() {
                RegisterKind::Dram { node, mcu, role } => {
                    self.memory_controller(node, mcu).read(role)
                }
                RegisterKind::Hub { hub, unit, role } => {
                    let mut hub = self.hub(hub);
                    hub.read(unit, role, self.now())
                }
                RegisterKind::Strand | RegisterKind::L2 => return None,
            },
        };
        held.ok()
    }

    fn pcr_of(&self, strand: StrandId) -> u64 {
        self.pcr(strand)
    }

    fn take_cross_call(&self, strand: StrandId) -> bool {
        (**self).take_cross_call(strand)
    }
}

impl<S: Swept, E: Embedder, T: Trace> System for Modelled<'_, S, E, T> {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let mut registers = Registers::from(registers);
        if let Some(caller) = caller(&self.configuration, strand)
            && let Ok(strand) = self.hypervisor.strand(caller)
        {
            strand.trap(trap, &mut registers);
        }
        registers.to_array()
    }

    #[inline(always)]
    fn change(&mut self, change: Change) {
        match change {
            Change::Reset(guest) => {
                if let (Some(guest), Some(on)) = (GuestId::new(guest), first_strand(Node::Node0)) {
                    self.hypervisor.reset_guest(guest, on);
                    self.take_cross_calls();
                }
            }
            Change::Busy(hub, busy) => {
                self.busy[hub.index()] = busy;
                self.hardware().occupy_hubs(self.busy);
            }
            Change::Break(unit) => self.hardware().set_faulty(faulty(unit), true),
            Change::BreakBanks(node, from) => {
                self.hardware().set_faulty(FaultyUnit::L2FromBank(node, from), true)
            }
            Change::Repair => self.repair(),
            Change::Return(unit) => self.return_to_service(unit),
            Change::Mend => {
                self.repair();
                for unit in Unit::ALL.iter().copied() {
                    if !self.service().unit(unit).in_service {
                        self.return_to_service(unit);
                    }
                }
            }
            Change::Put(cell, value) => self.hardware().put(cell, value),
        }
    }

    fn state(&mut self) -> u64 {
        state::digest(
            |cell| self.hardware().holds(cell),
            |strand| self.hardware().pcr_of(strand),
            |unit| !self.service().unit(unit).in_service,
        )
    }

    fn counts(&mut self) -> u64 {
        let guests = (0..GUESTS).filter_map(GuestId::new);
        guests.fold(0, |digest, guest| {
            let statistics = self.service().statistics(guest);
            state::counts(digest, |operation, class, outcome| {
                statistics.count(operation, class, outcome)
            })
        })
    }
}

/// Returns a strand as a caller; `None` if it belongs to no guest.
pub fn caller(configuration: &Configuration, strand: StrandId) -> Option<Caller> {
    let guest = GuestId::new(configuration.guest_of(strand)?)?;
    Some(Caller { guest, strand })
}

fn first_strand(node: Node) -> Option<StrandId> {
    StrandId::new(StrandId::PER_NODE * node.index())
}

/// Converts a unit to the device models' type.
pub const fn faulty(unit: Unit) -> FaultyUnit {
    match unit {
        Unit::Mcu(node, mcu) => FaultyUnit::Mcu(node, mcu),
        Unit::Hub(hub) => FaultyUnit::Hub(hub),
        Unit::L2(node) => FaultyUnit::L2(node),
    }
}

/// Switches on a machine of this configuration, and lets `work` use it.
pub fn with<T>(
    configuration: &Configuration,
    work: impl FnOnce(&mut dyn System) -> T,
) -> Result<T, ConfigError> {
    let devices = Devices::new(configuration.machine);
    devices.start_caches();
    let services = (PerfCounterService::new((&devices, &devices)),);
    let hypervisor = Hypervisor::new(services, NoConsole);
    hypervisor.services().0.configure(configuration.machine, &configuration.guests)?;
    Ok(work(&mut Modelled {
        hypervisor: &hypervisor,
        configuration: *configuration,
        busy: [false; Hub::ALL.len()],
    }))
}
