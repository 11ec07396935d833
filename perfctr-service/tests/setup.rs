//! How an image sets the service up: the callers that it serves.

use guest_abi::StrandId;
use hv_core::{Caller, ForeignStrand, GuestId, Hypervisor, NoConsole};
use perfctr_service::{Change, Grant, GuestConfig, PerfCounterService, StrandSet};
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

/// A right that its holder has used is lost at once, and the change waits for the strands of the loser. What nobody held is granted
/// at once.
#[test]
fn a_change_names_the_strands_that_it_awaits() {
    let machine = Machine::new(Model::Batoka, 1).unwrap();
    let devices = Devices::new(machine);
    let guests = [guest(3..5, Grant::GLOBAL), guest(7..8, Grant::NONE)];
    let service = PerfCounterService::new(machine, (&devices, &devices), &guests).unwrap();
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
