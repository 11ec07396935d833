//! Tests writes of a fast path in assembly. A written value reaches the device only once the strand has waited for its write, and no other
//! strand may access the device before that.

use std::sync::{Mutex, OnceLock};

use guest_abi::{Hub, Mcu, Node, Registers, StrandId};
use hv_core::{Caller, GuestId, Hypervisor, NoConsole};
use perfctr_service::{Grant, Grants, GuestConfig, PerfCounterService, Unit};
use platform::models::Devices;
use platform::{AccessError, Bus, Machine, Model, PhysicalAddress};
use tests::leak;
use tests::machine::strand;
use tests::oracle::status::{ENOACCESS, EOK, EWOULDBLOCK};

/// The numbers of NODE0_MCU0_PCR and ZAM0_LPU_A_PCR.
const DRAM: u64 = 2;
const HUB: u64 = 18;

/// The device bus. Writes of fast paths may still be on their way to the devices.
struct Posted {
    devices: Devices,
    on_their_way: Mutex<Vec<(StrandId, PhysicalAddress, u64)>>,
    /// A function to call before a strand's writes arrive.
    waited_for: OnceLock<Box<dyn Fn(StrandId) + Send + Sync>>,
    /// A function to call during a write on the slow path.
    written: OnceLock<Box<dyn Fn(StrandId) + Send + Sync>>,
}

impl Posted {
    /// Writes a register as a strand does on the fast path, in assembly.
    fn post(&self, strand: StrandId, address: PhysicalAddress, value: u64) {
        self.on_their_way.lock().unwrap().push((strand, address, value));
    }

    fn arrive(&self, strand: StrandId) {
        let mut on_their_way = self.on_their_way.lock().unwrap();
        on_their_way.retain(|(of, address, value)| {
            if *of == strand {
                self.devices.write(strand, *address, *value).unwrap();
            }
            *of != strand
        });
    }
}

impl Bus for Posted {
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        self.devices.read(strand, at)
    }

    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        if let Some(written) = self.written.get() {
            written(strand);
        }
        self.devices.write(strand, at, value)
    }

    fn complete_writes(&self, strand: StrandId) {
        if let Some(waited_for) = self.waited_for.get() {
            waited_for(strand);
        }
        self.arrive(strand);
    }
}

type Service = PerfCounterService<(&'static Posted, &'static Devices)>;
type System = Hypervisor<(Service,), NoConsole>;

/// Returns a one-node Batoka. Guest 0 has the right `global`, and runs on strands 0 and 1. Guest 1 has no rights, and runs on strand 2.
/// Both guests have negotiated version 1.1.
fn system() -> (&'static Posted, &'static System) {
    let machine = Machine::new(Model::Batoka, 1).unwrap();
    let posted = leak(Posted {
        devices: Devices::new(machine),
        on_their_way: Mutex::default(),
        waited_for: OnceLock::new(),
        written: OnceLock::new(),
    });
    let guest = |strands: &[u16], grant: &str| {
        GuestConfig::new(
            strands.iter().map(|number| strand(*number)).collect(),
            grant.parse().unwrap(),
        )
    };
    let guests = [guest(&[0, 1], "global"), guest(&[2], "none")];
    let services = (PerfCounterService::new((posted, &posted.devices)),);
    let system = leak(Hypervisor::new(services, NoConsole));
    system.services().0.configure(machine, &guests).unwrap();
    for number in [0, 2] {
        let mut registers = Registers::call(0, [0x205, 1, 1, 0, 0]);
        let _ = system.strand(caller(number)).unwrap().core_trap(&mut registers);
        assert_eq!((registers.o0, registers.o1), (EOK, 1));
    }
    (posted, system)
}

fn caller(number: u16) -> Caller {
    Caller { guest: GuestId::new(usize::from(number / 2)).unwrap(), strand: strand(number) }
}

/// Reads a register on the slow path. Returns the status and the value.
fn get(system: &System, number: u16, id: u64) -> (u64, u64) {
    let mut registers = Registers::call(0x106, [id, 0x0bad, 0, 0, 0]);
    system.strand(caller(number)).unwrap().fast_trap(&mut registers);
    (registers.o0, registers.o1)
}

/// Writes a register on the slow path. Returns the status.
fn set(system: &System, number: u16, id: u64, value: u64) -> u64 {
    let mut registers = Registers::call(0x107, [id, value, 0, 0, 0]);
    system.strand(caller(number)).unwrap().fast_trap(&mut registers);
    registers.o0
}

/// A trap can interrupt a strand before it takes the hub, while it holds the hub, or afterwards.
#[test]
fn only_a_strand_that_has_a_hub_gives_it_back() {
    // Strand 0 is refused in both cases, because strand 1 either has the hub or, after its access has faulted, the next turn.
    for trapped in [0, 1] {
        let (posted, system) = system();
        let found = leak(Mutex::new(Vec::new()));
        let meanwhile = move |of| {
            if of == strand(1) {
                let of_strand = system.strand(caller(trapped)).unwrap();
                of_strand.contexts().0.undo_fast_path(HUB);
                found.lock().unwrap().push(get(system, 0, HUB));
            }
        };
        assert!(posted.written.set(Box::new(meanwhile)).is_ok());
        assert_eq!(set(system, 1, HUB, 5), EOK);
        assert_eq!(*found.lock().unwrap(), [(EWOULDBLOCK, 0x0bad)]);
        assert_eq!(
            get(system, 1 - trapped, HUB),
            (EWOULDBLOCK, 0x0bad),
            "strand {trapped} is next"
        );
        assert_eq!(get(system, trapped, HUB), (EOK, 5));
        assert_eq!(get(system, 1 - trapped, HUB), (EOK, 5));
    }
}

/// After a fast-path access to a memory channel, a strand waits for its writes only when it is about to acknowledge a cross-call.
#[test]
fn a_strand_acknowledges_when_its_writes_have_arrived() {
    let (posted, system) = system();
    let (service,) = system.services();
    let awaited = leak(Mutex::new(Vec::new()));
    let waits = |of: StrandId| {
        let strands = service.pending().expect("a pending change");
        let has = strands.iter().any(|awaited| awaited == of);
        awaited.lock().unwrap().push((of, has));
    };
    assert!(posted.waited_for.set(Box::new(waits)).is_ok());
    posted.post(strand(0), PhysicalAddress(0x84_0000_0400), 5);
    assert_eq!(*awaited.lock().unwrap(), []);
    assert_eq!(get(system, 1, DRAM), (EOK, 0), "it is on its way");

    let mut grants = Grants::none(2).unwrap();
    let global = "global".parse::<Grant>().unwrap();
    grants.set(GuestId::new(1).unwrap(), global).unwrap();
    let change = service.reconfigure(strand(3), &grants).unwrap();
    assert!(!change.awaited().is_empty());
    for number in [0, 1] {
        assert_eq!(get(system, 2, DRAM), (ENOACCESS, 0x0bad));
        service.cross_called(strand(number));
    }
    assert_eq!(*awaited.lock().unwrap(), [(strand(0), true), (strand(1), true)]);
    // Writes that are on their way could arrive at any time.
    posted.arrive(strand(0));
    assert_eq!(get(system, 2, DRAM), (EOK, 0));
}

/// If only a fault's address is known, the unit at that address goes out of service.
#[test]
fn a_late_fault_is_that_of_the_unit_at_its_address() {
    let units = [
        // Local addresses, and the global address of channel 1 of the strand's own node.
        (0x84_0000_0400, Some(Unit::Mcu(Node::Node0, Mcu::Mcu0))),
        (0x84_0000_1408, Some(Unit::Mcu(Node::Node0, Mcu::Mcu1))),
        (0xd0_0000_1408, None),
        (0xd4_0000_1408, Some(Unit::Mcu(Node::Node1, Mcu::Mcu1))),
        (0xa9_0000_0000, Some(Unit::L2(Node::Node0))),
        (0xa9_0000_01c0, Some(Unit::L2(Node::Node0))),
        (0xa9_0000_0200, None),
        (0xe1_3000_4000, Some(Unit::Hub(Hub::Zam0))),
        // The address of ZAM2_LPU_C_PIC1.
        (0xe9_3001_6010, Some(Unit::Hub(Hub::Zam2))),
        (0xe9_3001_6018, None),
        (0, None),
    ];
    for (address, unit) in units {
        let (_, system) = system();
        let (service,) = system.services();
        let found = service.faulted_late(strand(0), PhysicalAddress(address));
        assert_eq!(found, unit, "{address:#x}");
        for other in Unit::ALL.iter().copied() {
            let state = service.unit(other);
            let faults = u32::from(unit == Some(other));
            assert_eq!((state.in_service, state.faults), (faults == 0, faults));
        }
    }
}
