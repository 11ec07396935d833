//! Units that fault and come back while strands negotiate. Once the call that found a unit faulty has returned, no call
//! reaches it until the operator has returned it.

use guest_abi::{Mcu, Node};
use perfctr_service::Unit;

use crate::machine::{DRAM, EBADTRAP, ENOTSUPPORTED, Modelled, explore_two, negotiate_1_1};

const CHANNEL: Unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);

/// Calls a register whose unit is broken. Once a call has found that out and returned, no call reaches it.
fn find_fault(machine: &Modelled, id: u64, unit: Unit) {
    let status = machine.get(0, id);
    let found = machine.service().is_out_of_service(unit);
    assert!(status == ENOTSUPPORTED || status == EBADTRAP && !found);
    assert_eq!(machine.devices().accesses(), u64::from(found));
    if found {
        assert_eq!(machine.get(0, id), ENOTSUPPORTED);
        assert_eq!(machine.devices().accesses(), 1);
    }
}

/// After [`find_fault`] and [`negotiate_1_1`]: it has been found by now. Then it is mended.
fn found_and_mended(machine: &Modelled, id: u64, unit: Unit) {
    for strand in 0..2 {
        assert_eq!(machine.get(strand, id), ENOTSUPPORTED);
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
