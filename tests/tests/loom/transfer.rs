//! Tests that `global` passes from one guest to another while both make calls.
//!
//! Strand 0 belongs to the loser (the guest that loses the right), strand 2 to the next holder, and strand 3 to the operator. Once the next
//! holder has reached a device, none of the loser's calls reach it, and the next holder finds zeros. On every kind of unit, the accesses of
//! the loser and of the strand that scrubs happen before the next holder's first access.

use std::rc::Rc;

use crate::machine::{DRAM, ENOACCESS, EOK, EWOULDBLOCK, HUB, L2, Modelled, OTHER, PCR};
use hv_core::sync::model::{StrandCode, explore, run_concurrently};

const LOSER: usize = 0;
const NEXT: usize = 2;

/// A value of %pcr with HT and ST.
const PCR_VALUE: u64 = 0xa;

/// Returns a machine with two guests that have negotiated.
fn two_guests() -> Rc<Modelled> {
    let machine = Modelled::two_guests();
    assert_eq!(machine.negotiate(LOSER, 1), (EOK, 1));
    assert_eq!(machine.negotiate(NEXT, 1), (EOK, 1));
    machine
}

/// Makes one call as the loser. The lock is tried only once, so the call may find L2 control taken.
fn program<const ID: u64>(machine: &Modelled) {
    let status = machine.set(LOSER, ID, 3);
    assert!(matches!(status, EOK | ENOACCESS) || ID == L2 && status == EWOULDBLOCK, "{status}");
}

/// Makes two calls as the loser, and takes a cross-call after each.
fn loser<const ID: u64>(machine: &Modelled) {
    program::<ID>(machine);
    machine.acknowledge(LOSER);
    program::<ID>(machine);
    machine.acknowledge(LOSER);
}

/// Reads the register twice. Once one read has been served, all later reads are served, and only the next holder accesses the register.
fn next_holder<const ID: u64>(machine: &Modelled) {
    let look = || {
        let value = machine.value(NEXT, ID);
        assert!(matches!(value, None | Some(0)), "{value:?}");
        value.is_some()
    };
    let first = look();
    let second = look();
    assert!(!first || second && machine.devices().last() == Some(NEXT));
}

fn operator(machine: &Modelled) {
    machine.give_global(OTHER);
}

/// Checks that the change is complete and that none of the loser's values remain.
fn settled(machine: &Modelled) {
    machine.all_acknowledge();
    assert_eq!(machine.set(LOSER, DRAM, 0x11), ENOACCESS);
    assert_eq!(machine.set(LOSER, 0, PCR_VALUE), ENOACCESS);
    assert_eq!(machine.devices().pcr(LOSER), 0);
    assert_eq!(machine.value(NEXT, DRAM), Some(0));
    assert!(machine.is_fast(NEXT, DRAM));
}

fn transferred<const N: usize>(preemptions: usize, parts: [StrandCode<Modelled>; N]) {
    explore(preemptions, 100, move || {
        let machine = two_guests();
        assert_eq!(machine.set(LOSER, 0, PCR_VALUE), EOK);
        run_concurrently(&machine, parts);
        settled(&machine);
    });
}

/// The loser makes calls and takes its cross-calls while the operator acts. At most 3 preemptions (4 with `prove`).
#[test]
fn the_loser_calls_and_acknowledges() {
    transferred(3, [operator, loser::<DRAM>]);
}

/// The next holder makes calls while first the operator and then the loser take their steps. At most 2 preemptions.
fn next_holder_calls<const ID: u64>() {
    transferred(
        2,
        [
            |machine| {
                operator(machine);
                loser::<ID>(machine);
            },
            next_holder::<ID>,
        ],
    );
}

#[test]
fn the_next_holder_calls_a_channel() {
    next_holder_calls::<DRAM>();
}

#[test]
fn the_next_holder_calls_a_hub() {
    next_holder_calls::<HUB>();
}

#[test]
fn the_next_holder_calls_l2_control() {
    next_holder_calls::<L2>();
}

/// The loser is reset while the operator transfers `global`. At most 2 preemptions (3 with `prove`).
#[test]
fn the_loser_starts_again() {
    explore(2, 20, || {
        let machine = two_guests();
        assert_eq!(machine.set(LOSER, DRAM, 0x11), EOK);
        run_concurrently(&machine, [operator, Modelled::reset_guest]);
        machine.all_acknowledge();
        assert_eq!(machine.negotiate(LOSER, 1), (EOK, 1));
        settled(&machine);
    });
}

/// One guest is reset while the operator grants another right to the other guest. The guest that was reset does not get a register back
/// until the register is scrubbed, even if the operator's strand completes grants in the meantime. At most 2 preemptions (3 with `prove`).
#[test]
fn a_guest_that_starts_again_finds_zeros() {
    explore(2, 100, || {
        let machine = two_guests();
        assert_eq!(machine.set(LOSER, DRAM, 0x11), EOK);
        run_concurrently(
            &machine,
            [Modelled::give_strand_to_other, |machine| {
                machine.reset_guest();
                assert_eq!(machine.negotiate(LOSER, 1), (EOK, 1));
                assert!(matches!(machine.value(LOSER, DRAM), None | Some(0)));
            }],
        );
        machine.all_acknowledge();
        assert_eq!(machine.value(LOSER, DRAM), Some(0));
    });
}

/// The loser's strand takes its cross-call while the operator transfers all rights and then transfers them back. In the end, only the first
/// guest has the register, and it finds zeros.
fn there_and_back<const ID: u64>(preemptions: usize) {
    explore(preemptions, 100, || {
        let machine = two_guests();
        assert_eq!(machine.set(LOSER, ID, PCR_VALUE), EOK);
        run_concurrently(
            &machine,
            [
                |machine| {
                    machine.give_global(OTHER);
                    machine.give_global(machine.guest());
                },
                |machine| (0..2).for_each(|_| machine.acknowledge(LOSER)),
            ],
        );
        machine.all_acknowledge();
        assert_eq!(machine.value(NEXT, ID), None);
        assert_eq!(machine.value(LOSER, ID), Some(0));
    });
}

#[test]
fn a_channel_there_and_back() {
    there_and_back::<DRAM>(4);
}

#[test]
fn a_pcr_there_and_back() {
    there_and_back::<PCR>(2);
}
