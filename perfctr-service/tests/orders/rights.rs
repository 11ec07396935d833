//! Tests transfers of rights between guests, and resets of a guest.

use guest_abi::StrandId;
use hv_core::sync::steps::{self, orders};
use orders::{Strand, explore, explore_within};
use perfctr_service::Grant;
use perfctr_service::mailbox::{self, Step};
use platform::Model;

use crate::machine::{
    DRAM, ENOACCESS, EOK, LOSER, Modelled, NEXT, OPERATOR, PCR, REPORTER, SECOND, read, write,
};

const NONE: Grant = Grant::NONE;
const STRAND: Grant = Grant::STRAND;

/// Two changes are pending at first: a grant to guest 1, and a reset of guest 0, because the strand that began the reset has died. Guest
/// 1's strand works on both changes, while another strand calls `pending`. Even after this work, the acknowledgement of guest 0's strand is
/// missing. So a change is pending all the time, and `pending` must always return one.
#[test]
fn a_change_that_is_pending_is_seen_to_be() {
    let mut tried = 0;
    for step in 0..30 {
        let new = || Modelled::new(Model::Maramba, &[LOSER], NONE);
        let (idle, machine) = (new(), new());
        machine.grant(OPERATOR, [NONE, STRAND]);
        machine.grant(OPERATOR, [NONE, NONE]);
        machine.grant(OPERATOR, [NONE, STRAND]);
        let reset = |machine: &Modelled| {
            steps::die_at(step, || machine.reset(OPERATOR)).is_none()
                && machine.service().pending().is_some()
        };
        if !reset(&idle) || !reset(&machine) {
            continue;
        }
        let works = |machine: &Modelled, _| {
            machine.acknowledge(NEXT);
            None
        };
        let looks = |machine: &Modelled, _| {
            assert!(machine.service().pending().is_some(), "nothing is pending");
            None
        };
        explore(&*machine, &[Strand::new(&works), Strand::new(&looks)], |_| ());
        tried += 1;
    }
    assert!(tried > 0);
}

/// Checks that guest 0, which wrote to this register before its reset, reads 0 from the register when it has its rights again.
fn is_reset(machine: &Modelled, id: u64) {
    machine.all_acknowledge(&[LOSER, NEXT, OPERATOR, REPORTER, SECOND]);
    machine.negotiate(LOSER, 1, 1);
    assert_eq!(machine.value(LOSER, id), Some(0), "register {id}");
}

fn resets(machine: &Modelled, _: u64) -> Option<u64> {
    machine.reset(OPERATOR);
    None
}

/// Returns a machine whose guest 0 has these rights and has written to this register.
fn written(grant: Grant, id: u64) -> Box<Modelled> {
    let machine = Modelled::new(Model::Maramba, &[LOSER], grant);
    assert_eq!(machine.set(LOSER, id, 3), EOK);
    machine
}

/// While one strand resets the guest, another strand works on a change and dies, and a third strand reports the death.
#[test]
fn a_reset_is_not_lost_when_another_strand_dies() {
    let machine = written(STRAND, PCR);
    let works = |machine: &Modelled, _| {
        machine.cross_called(SECOND);
        None
    };
    let reports = |machine: &Modelled, _| {
        orders::wait_until_dead(1);
        machine.died(REPORTER, SECOND);
        None
    };
    let strands = [Strand::new(&resets), Strand::new(&works).mortal(), Strand::new(&reports)];
    explore_within(2, &*machine, &strands, |machine| is_reset(machine, PCR));
}

/// One strand resets the guest. Meanwhile another strand works on the reset, and the guest's strand takes its cross-call, gets its rights
/// back, and writes to a register. If the guest's next read is refused, the reset came after the write, and must have erased the value:
/// once the guest has its rights again, it reads 0.
#[test]
fn what_a_guest_writes_during_its_reset_is_gone() {
    for (grant, id) in [(STRAND, PCR), (Grant::GLOBAL, DRAM)] {
        let machine = written(grant, id);
        let works = |machine: &Modelled, step| {
            match step {
                0 => machine.cross_called(SECOND),
                1 => machine.acknowledge(LOSER),
                2 => machine.negotiate(LOSER, 1, 1),
                3 if machine.set(LOSER, id, 3) != EOK => return None,
                3 => {}
                4 => machine.negotiate(LOSER, 1, 1),
                _ => {
                    let refused = machine.get(LOSER, id) == ENOACCESS;
                    write(&machine.noted[0], refused.into());
                }
            }
            (step < 5).then_some(step + 1)
        };
        explore_within(2, &*machine, &[Strand::new(&resets), Strand::new(&works)], |machine| {
            if read(&machine.noted[0]) != 0 {
                is_reset(machine, id);
            }
        });
    }
}

/// The operator reports the death of a strand. By the time the image acts on this, the service no longer waits for the strand.
#[test]
fn a_death_is_reported_before_the_image_acts_on_it() {
    let machine = Modelled::new(Model::Maramba, &[LOSER], Grant::ALL);
    machine.grant(OPERATOR, [NONE, Grant::ALL]);
    let loser = StrandId::new(LOSER).unwrap();
    let on = StrandId::new(REPORTER).unwrap();
    assert_eq!(machine.service().pending(), Some([loser].into_iter().collect()));
    let mut words = [0; mailbox::WORDS];
    mailbox::ask(&mut words, &Step::Died(loser));
    let mut acted = false;
    mailbox::serve(&mut words, machine.service(), on, |step| {
        assert_eq!(step, Step::Died(loser));
        assert_eq!(machine.service().pending(), None, "the service waits for the strand");
        acted = true;
    });
    assert!(acted);
}
