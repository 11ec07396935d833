//! Tests units that fail, units that a strand held when it died, and units that stay busy for a long time.

use guest_abi::{Hub, Node};
use hv_core::sync::steps;
use hv_core::sync::steps::orders::{self, Strand, explore, wait_until_nonzero};
use perfctr_service::{BUSY_PAUSE_TICKS, Grant, Unit};
use platform::Model;

use crate::machine::{
    ENOACCESS, EWOULDBLOCK, HUB, L2, LOSER, Modelled, OPERATOR, REPORTER, SECOND, read, write,
};

/// A third strand of the guest.
const THIRD: usize = 3;

fn machine(model: Model) -> Box<Modelled> {
    Modelled::new(model, &[LOSER, SECOND, THIRD], Grant::ALL)
}

/// Returns the code of a strand that sets a register once.
fn sets(number: usize, id: u64) -> impl Fn(&Modelled, u64) -> Option<u64> {
    move |machine, _| {
        machine.set(number, id, 1);
        None
    }
}

/// Two strands set a register of a unit. The first access to the unit fails. After that, no strand accesses the unit, and calls for it are
/// refused.
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

/// Both strands were refused at the hub, because a third strand died in its access, so both strands enter the gate. (A strand that gets the
/// hub on the fast path does not check again whether the hub is in service, because its call began before the hub went out of service.)
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
        orders::wait_until_dead(0);
        machine.died(REPORTER, LOSER);
        None
    };
    let strands = [Strand::new(&dies).mortal(), Strand::new(&lives), Strand::new(&reports)];
    explore(&*machine, &strands, |_| ());
}

/// A strand holds the L2 control for nearly the whole limit, while another strand keeps asking for it. At the last ask, the first strand
/// ends its access, and a third strand sets PERF_CONFIG. The asking strand may judge the L2 control broken only if no access had ended
/// before its last call, and if no second access had begun when the strand read its clock.
#[test]
fn l2_control_that_is_released_is_not_broken() {
    let machine = machine(Model::Maramba);
    write(&machine.devices.halts[0], 1);
    let holds = |machine: &Modelled, _| {
        machine.set(SECOND, L2, 1);
        write(&machine.noted[0], 1);
        None
    };
    let looks = |machine: &Modelled, look| {
        wait_until_nonzero(&machine.noted[1]);
        write(&machine.devices.time, look * BUSY_PAUSE_TICKS);
        let ended = read(&machine.noted[0]);
        machine.set(LOSER, L2, 1);
        if look == 31 {
            write(&machine.devices.halts[1], 1);
        }
        let broken = machine.service().unit(unit(L2)).stuck != 0;
        let begun = read(&machine.devices.begun_then);
        assert!(!broken || ended == 0 && begun <= 1, "L2 control works");
        (look < 32).then_some(look + 1)
    };
    let sets = |machine: &Modelled, _| {
        wait_until_nonzero(&machine.devices.halts[1]);
        machine.set(THIRD, L2, 1);
        None
    };
    let begins = |machine: &Modelled, _| {
        wait_until_nonzero(&machine.devices.differ);
        write(&machine.noted[1], 1);
        None
    };
    let mut broken = 0;
    let strands =
        [Strand::new(&holds), Strand::new(&looks), Strand::new(&sets), Strand::new(&begins)];
    explore(&*machine, &strands, |machine| broken += machine.service().unit(unit(L2)).stuck);
    assert!(broken > 0, "nobody finds it broken");
}

/// While a hub is scrubbed for its next user, its chip is busy again and again, for longer than the limit in total. The chip accepts each
/// access in the end, so the hub is not broken.
#[test]
fn a_hub_that_is_scrubbed_slowly_is_not_broken() {
    let machine = machine(Model::Batoka);
    write(&machine.devices.busy, 1);
    machine.grant(OPERATOR, [Grant::NONE; 2]);
    for look in 0..400 {
        write(&machine.devices.time, look * (BUSY_PAUSE_TICKS - 1));
        [LOSER, SECOND, THIRD].iter().for_each(|number| machine.acknowledge(*number));
    }
    assert_eq!(machine.service().pending(), None);
    for hub in Hub::ALL {
        let state = machine.service().unit(Unit::Hub(*hub));
        assert!(state.in_service && state.clean && state.stuck == 0, "{hub:?}: {state:?}");
    }
    assert!(read(&machine.devices.busy) > 3 * 18, "the chips were busy");
}
