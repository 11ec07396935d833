//! Units that fault and come back while strands negotiate. Once the call that found a unit faulty has returned, no call
//! reaches it until the operator has returned it.

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::Unit;

use crate::machine::{
    DRAM, EBADTRAP, ENOACCESS, EOK, HUB, Modelled, explore_two, negotiate_1_0, negotiate_1_1,
};

const CHANNEL: Unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);

/// Calls a register whose unit is broken. Once a call has found that out and returned, no call reaches it.
fn find_fault(machine: &Modelled, id: u64, unit: Unit) {
    let status = machine.get(0, id);
    let found = !machine.service().unit(unit).in_service;
    assert!(status == ENOACCESS || status == EBADTRAP && !found);
    assert_eq!(machine.devices().accesses(), u64::from(found));
    if found {
        assert_eq!(machine.get(0, id), ENOACCESS);
        assert_eq!(machine.devices().accesses(), 1);
    }
}

/// After [`find_fault`] and [`negotiate_1_1`]: it has been found by now. Then it is mended.
fn found_and_mended(machine: &Modelled, id: u64, unit: Unit) {
    for strand in 0..2 {
        assert_eq!(machine.get(strand, id), ENOACCESS);
        assert_eq!(machine.devices().accesses(), 1);
    }
    machine.devices().set_broken(false);
    machine.return_to_service(unit);
    machine.check_complete(1);
}

/// At most 4 preemptions.
#[test]
fn a_channel_faults_at_the_first_negotiation() {
    explore_two(
        4,
        [negotiate_1_1, |machine| find_fault(machine, DRAM, CHANNEL)],
        |machine| machine.devices().set_broken(true),
        |machine| found_and_mended(machine, DRAM, CHANNEL),
    );
}

/// At most 4 preemptions.
#[test]
fn a_channel_faults_at_a_change_of_version() {
    explore_two(
        4,
        [negotiate_1_1, |machine| find_fault(machine, DRAM, CHANNEL)],
        |machine| {
            negotiate_1_0(machine);
            machine.devices().set_broken(true);
        },
        |machine| found_and_mended(machine, DRAM, CHANNEL),
    );
}

/// At most 4 preemptions.
#[test]
fn a_hub_faults_at_a_negotiation_of_the_same_version() {
    explore_two(
        4,
        [negotiate_1_1, |machine| {
            find_fault(machine, HUB, Unit::Hub(Hub::Zam0));
        }],
        |machine| {
            negotiate_1_1(machine);
            machine.devices().set_broken(true);
        },
        |machine| found_and_mended(machine, HUB, Unit::Hub(Hub::Zam0)),
    );
}

fn a_channel_is_out(machine: &Modelled) {
    negotiate_1_0(machine);
    machine.devices().set_broken(true);
    assert_eq!(machine.get(0, DRAM), ENOACCESS);
}

/// The operator returns a unit while a strand negotiates: in the end the guest has it, in the version it asked for. At most
/// 4 preemptions.
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

/// A unit that the operator returns faults again at that moment, while it is given back to the guests: it stays out. At most
/// 4 preemptions.
#[test]
fn a_unit_faults_while_it_returns() {
    explore_two(
        4,
        [
            |machine| machine.return_to_service(CHANNEL),
            |machine| {
                assert_eq!(machine.get(0, DRAM), ENOACCESS);
                if machine.devices().accesses() == 2 {
                    // So the unit had been returned before it faulted.
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
