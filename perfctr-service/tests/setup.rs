//! How an image sets the service up: the callers that it serves.

use guest_abi::StrandId;
use hv_core::{Caller, ForeignStrand, GuestId, Hypervisor, NoConsole};
use perfctr_service::{Grant, GuestConfig, PerfCounterService};
use platform::models::Devices;
use platform::{Machine, Model};

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

fn guest(strands: impl Iterator<Item = usize>, grant: Grant) -> GuestConfig {
    GuestConfig { strands: strands.map(strand).collect(), grant, compatible: false }
}

/// Guest 0 has strands 0 to 63, guest 1 has strands 64 to 127. Strands 128 to 255 execute no guest.
#[test]
fn a_guest_is_served_on_its_own_strands_only() {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let devices = Devices::new(machine);
    let guests = [guest(0..64, Grant::ALL), guest(64..128, Grant::NONE)];
    let service = PerfCounterService::new(machine, (&devices, &devices), &guests).unwrap();
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
