//! The contract sweep, call by call against the reference model: every register, machine, number of nodes, grant, version
//! and node of the caller, with hubs free and busy; function numbers; negotiation; units that fault. The guest in QEMU makes
//! the same calls.

use sweep::parts;
use tests::swept::compare;

#[test]
fn every_register_in_every_world() {
    assert!(compare(&parts::EVERY_REGISTER) >= 500_000);
}

#[test]
fn what_is_written_reads_back_masked() {
    assert!(compare(&parts::READ_BACK) >= 40_000);
}

#[test]
fn busy_hubs_in_every_world() {
    assert!(compare(&parts::BUSY) >= 100_000);
}

#[test]
fn every_function_number() {
    assert!(compare(&parts::FUNCTIONS) >= 100_000);
}

#[test]
fn negotiation_from_every_prior_state() {
    assert!(compare(&parts::NEGOTIATION) >= 80_000);
}

#[test]
fn get_version_of_every_group_in_every_prior_state() {
    assert!(compare(&parts::OF_EVERY_GROUP) >= 8_000);
}

#[test]
fn every_register_on_a_broken_unit() {
    assert!(compare(&parts::BROKEN_UNITS) >= 100_000);
}

#[test]
fn hubs_are_all_or_nothing_from_reset_to_reset() {
    assert!(compare(&parts::ALL_OR_NOTHING) >= 6_000);
}

#[test]
fn units_return_one_by_one() {
    assert!(compare(&parts::ONE_BY_ONE) >= 5_000);
}

#[test]
fn an_l2_set_that_faults_leaves_every_bank_as_it_was() {
    assert!(compare(&parts::HALF_AN_L2) >= 100);
}
