//! Tests how an image sets up the service, which guests and strands the service serves, and what the operator is told. These tests are not
//! compiled for loom: a test keeps the service in a static, and loom's atomics cannot be created in a constant expression.
#![cfg(not(loom))]

use std::sync::Mutex;

use guest_abi::{HvError, Hypercall, Mcu, Node, StrandId, Trap};
use hv_core::{Caller, ForeignStrand, GuestId, Hypervisor, NoConsole};
use perfctr_service::{Change, ConfigError, Grant, GuestConfig, PerfCounterService, StrandSet};
use platform::models::{Devices, FaultyUnit};
use platform::{Machine, Model};

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

fn guest(strands: impl Iterator<Item = usize>, grant: Grant) -> GuestConfig {
    GuestConfig::new(strands.map(strand).collect(), grant)
}

type Service<'a> = PerfCounterService<(&'a Devices, &'a Devices)>;

/// Returns a service that accesses `devices`, and that is configured for their machine and for `guests`.
fn configured<'a>(devices: &'a Devices, guests: &[GuestConfig]) -> Service<'a> {
    let service = PerfCounterService::new((devices, devices));
    service.configure(devices.machine(), guests).unwrap();
    service
}

/// Guest 0 has strands 0 to 63, and guest 1 has strands 64 to 127. No guest has strands 128 to 255.
#[test]
fn a_guest_is_served_on_its_own_strands_only() {
    let devices = Devices::new(BATOKA);
    let service = configured(&devices, &[guest(0..64, Grant::ALL), guest(64..128, Grant::NONE)]);
    let hypervisor = Hypervisor::new((service,), NoConsole);
    for (number, number_of_guest, serves) in [
        (0, 0, true),
        (63, 0, true),
        (64, 0, false),
        (200, 0, false),
        (0, 1, false),
        (64, 1, true),
        (127, 1, true),
        (128, 1, false),
        (0, 2, false),
        (255, 255, false),
    ] {
        let guest = GuestId::new(number_of_guest).unwrap();
        let caller = Caller { guest, strand: strand(number) };
        let error = hypervisor.strand(caller).err();
        assert_eq!(error, (!serves).then_some(ForeignStrand(caller)), "{caller:?}");
    }
    let caller = Caller { guest: GuestId::new(0).unwrap(), strand: strand(200) };
    let error = hypervisor.strand(caller).err().unwrap();
    assert_eq!(error.to_string(), "strand 200 does not execute guest 0");
}

/// A guest immediately loses a right that it has used, and the change waits for that guest's strands. A right that nobody held is granted
/// immediately.
#[test]
fn a_change_names_the_strands_that_it_awaits() {
    let devices = Devices::new(Machine::new(Model::Batoka, 1).unwrap());
    let service = configured(&devices, &[guest(3..5, Grant::GLOBAL), guest(7..8, Grant::NONE)]);
    let [operator, first, second] = [7, 3, 4].map(strand);
    let change = |grant: [Grant; 2]| {
        let mut grants = service.grants();
        for (number, grant) in grant.into_iter().enumerate() {
            grants.set(GuestId::new(number).unwrap(), grant).unwrap();
        }
        service.reconfigure(operator, &grants).unwrap()
    };
    assert_eq!(change([Grant::GLOBAL, Grant::STRAND]), Change::Complete);
    let pending = change([Grant::NONE, Grant::ALL]);
    assert_eq!(pending, Change::Pending([first, second].into_iter().collect()));
    service.cross_called(first);
    assert_eq!(service.pending().unwrap(), [second].into_iter().collect::<StrandSet>());
    service.cross_called(second);
    let again = change([Grant::NONE, Grant::ALL]);
    assert_eq!((again, again.awaited().is_empty()), (Change::Complete, true));
}

const BATOKA: Machine = match Machine::new(Model::Batoka, 4) {
    Ok(machine) => machine,
    Err(_) => panic!(),
};
static DEVICES: Devices = Devices::new(BATOKA);

static HYPERVISOR: Hypervisor<(Service<'static>,), NoConsole> =
    Hypervisor::new((PerfCounterService::new((&DEVICES, &DEVICES)),), NoConsole);

/// The service is in a static, so it is never on a stack.
#[test]
fn a_thread_with_a_small_stack_sets_the_service_up() {
    let run = || {
        let (service,) = HYPERVISOR.services();
        let caller = Caller { guest: GuestId::new(1).unwrap(), strand: strand(70) };
        assert_eq!(HYPERVISOR.strand(caller).err(), Some(ForeignStrand(caller)));
        service
            .configure(BATOKA, &[guest(0..64, Grant::NONE), guest(64..128, Grant::ALL)])
            .unwrap();
        let strand = HYPERVISOR.strand(caller).unwrap();
        assert_eq!(strand.call(Trap::Core, 0, [0x205, 1, 1, 0, 0]).unwrap()[0], 1);
        for (id, value) in [(0, 0x11), (1, 2), (6, 0x21), (62, 3)] {
            strand.call(Trap::Fast, 0x107, [id, value, 0, 0, 0]).unwrap();
            assert_eq!(strand.call(Trap::Fast, 0x106, [id, 0, 0, 0, 0]).unwrap()[0], value);
        }
    };
    let thread = std::thread::Builder::new().stack_size(128 * 1024).spawn(run);
    thread.unwrap().join().unwrap();
}

/// A logger that keeps the target and the text of each message.
struct Logger(Mutex<Vec<(String, String)>>);

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = (record.target().to_owned(), record.args().to_string());
        self.0.lock().unwrap().push(line);
    }

    fn flush(&self) {}
}

/// When a unit goes out of service, the service logs one message. Further calls for the unit log nothing. The message's target is
/// `perfctr-service`.
#[test]
fn what_is_logged() {
    static LOGGER: Logger = Logger(Mutex::new(Vec::new()));
    log::set_logger(&LOGGER).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let devices = Devices::new(BATOKA);
    let service = configured(&devices, &[guest(0..1, Grant::ALL)]);
    let hypervisor = Hypervisor::new((service,), NoConsole);
    let caller = Caller { guest: GuestId::new(0).unwrap(), strand: strand(0) };
    let strand = hypervisor.strand(caller).unwrap();
    strand.call(Trap::Core, 0, [0x205, 1, 1, 0, 0]).unwrap();
    devices.set_faulty(FaultyUnit::Mcu(Node::Node0, Mcu::Mcu1), true);
    for _ in 0..2 {
        let refused = strand.call(Trap::Fast, 0x106, [4, 0, 0, 0, 0]);
        assert_eq!(refused, Err(HvError::NoAccess));
    }
    let said = "memory channel 1 of node 0 is out of service: a read at 0x8400001400 by guest 0 on strand 0 failed";
    let line = ["perfctr-service", said].map(String::from);
    assert_eq!(*LOGGER.0.lock().unwrap(), [line.into()]);
}

/// A configuration that fails changes nothing. After a configuration has succeeded, all further configurations fail.
#[test]
fn a_service_is_configured_once() {
    let devices = Devices::new(BATOKA);
    let service = PerfCounterService::new((&devices, &devices));
    let error = service.configure(BATOKA, &[guest(0..1, Grant::GLOBAL), guest(1..2, Grant::ALL)]);
    assert_eq!(error, Err(ConfigError::TwoGlobals(0, 1)));
    assert_eq!(service.grants().guests(), 0);
    service.configure(BATOKA, &[guest(0..1, Grant::GLOBAL)]).unwrap();
    assert_eq!(service.configure(BATOKA, &[]), Err(ConfigError::Configured));
    assert_eq!(service.grants().get(GuestId::new(0).unwrap()), Grant::GLOBAL);
}

/// The documentation of the service and of the hypervisor states these sizes. The hypervisor's own memory stores the versions that guests
/// have negotiated: 2 KB for the base groups, and 1 KB for each service.
#[test]
fn sizes() {
    assert_eq!(size_of::<Service<'_>>().div_ceil(1024), 212);
    let together = size_of::<Hypervisor<(Service<'_>,), NoConsole>>();
    assert_eq!(together - size_of::<Service<'_>>(), 3 * 1024);
    assert_eq!(size_of::<Hypervisor<(), NoConsole>>(), 2 * 1024);
}
