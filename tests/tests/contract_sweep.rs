//! Compares the contract sweep with the reference model, call by call. The sweep covers every register, machine, number of nodes, grant,
//! version, and caller's node, with free and busy hubs. It also covers function numbers, negotiation, and units that fault. The guest in
//! QEMU makes the same calls.

use conform::parts;
use tests::swept::compare;

/// Defines a test for each part of the sweep. Each test must compare at least the given number of calls.
macro_rules! sweep {
    ($($test:ident: $part:ident, $least:literal;)*) => {
        $(#[test]
        fn $test() {
            assert!(compare(&parts::$part) >= $least);
        })*
    };
}

sweep! {
    every_register_in_every_world: EVERY_REGISTER, 500_000;
    what_is_written_reads_back_masked: READ_BACK, 40_000;
    busy_hubs_in_every_world: BUSY, 100_000;
    every_function_number: FUNCTIONS, 100_000;
    negotiation_from_every_prior_state: NEGOTIATION, 80_000;
    get_version_of_every_group_in_every_prior_state: OF_EVERY_GROUP, 8_000;
    every_register_on_a_broken_unit: BROKEN_UNITS, 100_000;
    resets_while_a_hub_is_out_of_service: WITHOUT_A_HUB, 6_000;
    units_return_one_by_one: ONE_BY_ONE, 5_000;
    an_l2_set_that_faults_leaves_every_bank_as_it_was: HALF_AN_L2, 100;
}
