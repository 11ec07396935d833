//! Tests a second group on the service's state. Like group 0x202, it has the registers of the caller's own node, under other numbers.

use guest_abi::{ApiGroup, HvError, Hypercall, PerfReg, RegisterKind, Registers, Trap, Version};
use hv_core::{CallError, Context, Group, Hypervisor, NegotiatedVersion, NoConsole, Reply};
use platform::models::Devices;
use platform::{Machine, Model};

use super::call::{Access, RequestedRegister};
use super::*;
use crate::Grant;
use crate::statistics::{Class, Operation, Outcome, Refusal};

/// The functions of the group: get and set.
const GET: u64 = 0x104;
const SET: u64 = 0x105;

enum Own {}

impl Group for Own {
    const NUMBER: ApiGroup = ApiGroup(0x202);
    const VERSIONS: &'static [Version] = &[Version::V1_0];
    const FUNCTIONS: &'static [u64] = &[GET, SET];
}

struct OwnGroup<'a, E>(&'a PerfCounterService<E>);

struct OwnContext<'a, E: Environment>(StrandContext<'a, E>);

impl<E: Environment> Service for OwnGroup<'_, E> {
    type Group = Own;
    type Context<'a>
        = OwnContext<'a, E>
    where
        Self: 'a;

    fn is_valid_caller(&self, caller: Caller) -> bool {
        self.0.knows_caller(caller)
    }

    fn context<'a>(&'a self, caller: Caller, _: &'a Negotiated<Own>) -> OwnContext<'a, E> {
        OwnContext(self.0.strand(caller))
    }

    fn guest_reset(&self, guest: GuestId, on: StrandId) {
        self.0.reset(guest, on);
    }
}

impl<E: Environment> Context for OwnContext<'_, E> {
    type Group = Own;

    fn call(
        &self,
        function: u64,
        _: NegotiatedVersion<Own>,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        let Self(strand) = self;
        let access = if function == GET { Access::Get } else { Access::Set(registers.o1) };
        // Number 0 is the PCR. The others are the registers of the two channels of the caller's node.
        let own = |register: &PerfReg| match register.kind() {
            RegisterKind::Strand => true,
            RegisterKind::Dram { node, .. } => node == strand.node,
            _ => false,
        };
        let register = usize::try_from(registers.o0)
            .ok()
            .and_then(|number| PerfReg::ALL.into_iter().filter(own).nth(number));
        let named =
            register.map_or(RequestedRegister::Unknown(registers.o0), RequestedRegister::Known);
        let grant = strand.guest.access().grant();
        let result =
            strand.serve_counted(named, access, || strand.call(grant, named, access, |_| true));
        access.answer(result)
    }
}

/// Calls `run` with the hypercalls of a guest on strand 70 (of node 1), and with the service. The guest has negotiated nothing. Both API
/// groups share the service's state.
fn with_both(
    grant: Grant,
    run: impl FnOnce(&dyn Hypercall, &PerfCounterService<(&Devices, &Devices)>),
) {
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    let devices = Devices::new(machine);
    let service = PerfCounterService::new((&devices, &devices));
    let strand = StrandId::new(70).unwrap();
    let guest = GuestConfig::new([strand].into_iter().collect(), grant);
    service.configure(machine, &[guest]).unwrap();
    let hypervisor = Hypervisor::new((&service, OwnGroup(&service)), NoConsole);
    let guest = GuestId::new(0).unwrap();
    run(&hypervisor.strand(Caller { guest, strand }).unwrap(), &service);
}

fn negotiate(guest: &dyn Hypercall, group: u64, major: u64, minor: u64) {
    guest.call(Trap::Core, 0, [group, major, minor, 0, 0]).unwrap();
}

fn call(guest: &dyn Hypercall, function: u64, number: u64, value: u64) -> Result<u64, HvError> {
    guest.call(Trap::Fast, function, [number, value, 0, 0, 0]).map(|[value, ..]| value)
}

/// The two numberings name the same registers.
#[test]
fn two_groups_have_one_state() {
    with_both(Grant::ALL, |guest, service| {
        negotiate(guest, 0x205, 1, 1);
        negotiate(guest, 0x202, 1, 0);
        for (own, global) in [(0, 0), (1, 6), (2, 7), (3, 8), (4, 9)] {
            assert_eq!(call(guest, SET, own, 0x10 + own), Ok(0x10 + own));
            assert_eq!(call(guest, 0x106, global, 0), Ok(0x10 + own), "{own}");
            assert_eq!(call(guest, 0x107, global, 0x20 + own), Ok(0x20 + own));
            assert_eq!(call(guest, GET, own, 0), Ok(0x20 + own), "{own}");
        }
        assert_eq!(call(guest, GET, 5, 0), Err(HvError::Invalid));
        let counted = |class, outcome| {
            let statistics = service.statistics(GuestId::new(0).unwrap());
            statistics.count(Operation::Get, class, outcome)
        };
        assert_eq!(counted(Class::Dram, Outcome::Ok), 8);
        assert_eq!(counted(Class::Invalid, Outcome::Refused(Refusal::Invalid)), 1);
    });
}

/// Calls of one group do not open the fast path of another group that the guest has not negotiated.
#[test]
fn a_group_does_not_open_the_fast_path_of_another() {
    with_both(Grant::ALL, |guest, _| {
        let both = |own, vfalls| {
            for (own_number, number) in [(0, 0), (1, 6)] {
                assert_eq!(call(guest, GET, own_number, 0).err(), own);
                assert_eq!(call(guest, 0x106, number, 0).err(), vfalls);
            }
        };
        let refused = Some(HvError::BadTrap);
        both(refused, refused);
        negotiate(guest, 0x202, 1, 0);
        both(None, refused);
        negotiate(guest, 0x205, 1, 1);
        both(None, None);
        negotiate(guest, 0x205, 0, 0);
        both(None, refused);
        negotiate(guest, 0x205, 1, 0);
        negotiate(guest, 0x202, 0, 0);
        both(refused, None);
    });
}

/// The policy is the same for every group.
#[test]
fn a_second_group_obeys_the_policy() {
    with_both(Grant::STRAND, |guest, _| {
        negotiate(guest, 0x202, 1, 0);
        assert_eq!(call(guest, SET, 0, 1), Ok(1));
        assert_eq!(call(guest, SET, 0, 1 << 3), Err(HvError::NoAccess));
        assert_eq!(call(guest, GET, 1, 0), Err(HvError::NoAccess));
    });
    with_both(Grant::GLOBAL, |guest, _| {
        negotiate(guest, 0x202, 1, 0);
        assert_eq!(call(guest, GET, 0, 0), Err(HvError::NoAccess));
        // In a channel's register, bit 3 is not HT.
        assert_eq!(call(guest, SET, 1, 1 << 3), Ok(1 << 3));
    });
}
