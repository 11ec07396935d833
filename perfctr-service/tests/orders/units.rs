//! Units that fail, that a dead strand leaves, and that are busy for long.

use guest_abi::{Hub, Node};
use hv_core::sync::steps::orders::{self, Strand, explore};
use hv_core::sync::steps;
use perfctr_service::{Grant, Unit};
use platform::Model;

use crate::machine::{ENOACCESS, EWOULDBLOCK, HUB, L2, LOSER, Modelled, REPORTER, SECOND, read, write};

/// A third strand of the guest.
const THIRD: usize = 3;

fn machine(model: Model) -> Modelled {
    Modelled::new(model, &[LOSER, SECOND, THIRD], Grant::ALL, |_| 0)
}

/// Returns the code of a strand that sets a register once.
fn sets(number: usize, id: u64) -> impl Fn(&Modelled, u64) -> Option<u64> {
    move |machine, _| {
        machine.set(number, id, 1);
        None
    }
}

/// Two strands set a register of a unit that fails at its first access. The other strand accesses the unit no more, and is refused.
fn fails(machine: &Modelled, id: u64) {
    write(&machine.devices.fails, 1);
    let (first, second) = (sets(LOSER, id), sets(SECOND, id));
    explore(machine, &[Strand::new(&first), Strand::new(&second)], |machine| {
        assert!(!machine.service().unit(unit(id)).in_service || read(&machine.devices.fails) == 1);
        for number in [LOSER, SECOND] {
            let status = machine.set(number, id, 1);
            assert!(status == ENOACCESS || status == EWOULDBLOCK, "{status}");
        }
    });
}

fn unit(id: u64) -> Unit {
    if id == HUB { Unit::Hub(Hub::Zam0) } else { Unit::L2(Node::Node0) }
}

/// Both strands were refused at the hub, because a third strand died there: they enter its gate. (A strand that the fast path has let in
/// looks no more. Its call began before the unit was out of service.)
#[test]
fn a_hub_that_fails_is_out_for_the_next_strand() {
    let machine = machine(Model::Batoka);
    // The strand dies when it releases the hub.
    assert!(steps::die_at(3, || machine.set(THIRD, HUB, 1)).is_none());
    for number in [SECOND, LOSER] {
        assert_eq!(machine.set(number, HUB, 1), EWOULDBLOCK);
    }
    machine.died(REPORTER, THIRD);
    fails(&machine, HUB);
}

#[test]
fn l2_control_that_fails_is_out_for_the_next_strand() {
    fails(&machine(Model::Maramba), L2);
}

/// A strand dies while it sets PERF_CONFIG, another reports the death, and a third sets PERF_CONFIG. Banks that differ stay out of service.
#[test]
fn nobody_writes_the_l2_control_of_a_strand_that_died() {
    let machine = machine(Model::Maramba);
    let (dies, lives) = (sets(LOSER, L2), sets(SECOND, L2));
    let reports = |machine: &Modelled, _| {
        orders::until_dead(0);
        machine.died(REPORTER, LOSER);
        None
    };
    let strands = [Strand::new(&dies).mortal(), Strand::new(&lives), Strand::new(&reports)];
    explore(&machine, &strands, |_| ());
}
