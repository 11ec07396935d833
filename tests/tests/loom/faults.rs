//! Tests units that fault and return to service while strands negotiate. Once a call that has found the fault has ended, no call reaches
//! the unit until the operator puts the unit back into service.

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::Unit;

use crate::machine::{
    DRAM, EBADTRAP, ENOACCESS, EOK, HUB, Modelled, explore_two, negotiate_1_0, negotiate_1_1,
};

const CHANNEL: Unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);

/// Returns the unit of [`DRAM`] or [`HUB`].
fn unit(id: u64) -> Unit {
    if id == DRAM { CHANNEL } else { Unit::Hub(Hub::Zam0) }
}

/// Makes calls for a register of a broken unit. Once a call that has found the fault has ended, no call may reach the unit.
fn find_fault<const ID: u64>(machine: &Modelled) {
    let status = machine.get(0, ID);
    let found = !machine.service().unit(unit(ID)).in_service;
    assert!(status == ENOACCESS || status == EBADTRAP && !found);
    assert_eq!(machine.devices().accesses(), u64::from(found));
    if found {
        assert_eq!(machine.get(0, ID), ENOACCESS);
        assert_eq!(machine.devices().accesses(), 1);
    }
}

/// Checks that the fault was found, after [`find_fault`] and [`negotiate_1_1`] have run, and repairs the unit.
fn found_and_mended<const ID: u64>(machine: &Modelled) {
    for strand in 0..2 {
        assert_eq!(machine.get(strand, ID), ENOACCESS);
        assert_eq!(machine.devices().accesses(), 1);
    }
    machine.devices().set_broken(false);
    machine.return_to_service(unit(ID));
    machine.check_complete(1);
}

/// A register's unit faults while version 1.1 is negotiated. At most 4 preemptions.
fn faults_at_a_negotiation<const ID: u64>(before: fn(&Modelled)) {
    explore_two(4, [negotiate_1_1, find_fault::<ID>], before, found_and_mended::<ID>);
}

#[test]
fn a_channel_faults_at_the_first_negotiation() {
    faults_at_a_negotiation::<DRAM>(|machine| machine.devices().set_broken(true));
}

#[test]
fn a_channel_faults_at_a_change_of_version() {
    faults_at_a_negotiation::<DRAM>(|machine| {
        negotiate_1_0(machine);
        machine.devices().set_broken(true);
    });
}

#[test]
fn a_hub_faults_at_a_negotiation_of_the_same_version() {
    faults_at_a_negotiation::<HUB>(|machine| {
        negotiate_1_1(machine);
        machine.devices().set_broken(true);
    });
}

fn a_channel_is_out(machine: &Modelled) {
    negotiate_1_0(machine);
    machine.devices().set_broken(true);
    assert_eq!(machine.get(0, DRAM), ENOACCESS);
}

/// The operator returns a unit to service while a strand negotiates. In the end, the requested version is in force, and the guest can use
/// the unit. At most 4 preemptions.
#[test]
fn a_unit_returns_at_a_negotiation() {
    explore_two(
        4,
        [negotiate_1_1, |machine| {
            machine.return_to_service(CHANNEL);
            assert_eq!(machine.get(0, DRAM), EOK);
        }],
        |machine| {
            a_channel_is_out(machine);
            machine.devices().set_broken(false);
        },
        |machine| machine.check_complete(1),
    );
}

/// While the operator returns a unit to service, the unit faults again, and stays out of service. At most 4 preemptions.
#[test]
fn a_unit_faults_while_it_returns() {
    explore_two(
        4,
        [
            |machine| machine.return_to_service(CHANNEL),
            |machine| {
                assert_eq!(machine.get(0, DRAM), ENOACCESS);
                if machine.devices().accesses() == 2 {
                    // Two accesses mean that the unit had returned to service before it faulted again.
                    assert_eq!(machine.get(0, DRAM), ENOACCESS);
                    assert_eq!(machine.devices().accesses(), 2);
                }
            },
        ],
        a_channel_is_out,
        |machine| {
            let out = !machine.service().unit(CHANNEL).in_service;
            assert_eq!(out, machine.devices().accesses() == 2);
            machine.devices().set_broken(false);
            assert_eq!(machine.get(0, DRAM), if out { ENOACCESS } else { EOK });
            assert_eq!(machine.is_fast(0, DRAM), !out);
        },
    );
}
