//! Compares CORE calls with the reference model. These calls write to the console and end the guest. Both effects can be compared only in
//! tests on the host.

use guest_abi::ApiGroup;
use guest_abi::trap::PerfFunction;
use tests::comparison::{Comparison, board};
use tests::oracle::{Grant, Guest, Machine, Trap, World};

#[test]
fn console_and_exit() {
    let second = Guest::new([64], Grant::STRAND).with_compat();
    let guests = vec![Guest::new([0, 1], Grant::GLOBAL_HTSTRAND), second];
    let world = World::new(Machine::Batoka, 2, &[], guests).unwrap();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    for strand in [0, 1, 64] {
        for value in (0..0x300).chain([1 << 16, 1 << 32, 1 << 32 | 0x41, 1 << 63, u64::MAX]) {
            // The guest writes to the console, then exits. Neither call needs a negotiated version.
            for function in [1, 2] {
                comparison.call(strand, Trap::Core, [value, 0x11, 0x22, 0x33, 0x44, function]);
            }
        }
    }
    comparison.check_state();
    assert_eq!(comparison.cases, 2 * 3 * (0x300 + 5));
}

/// The reference model and the machine under test know every group and every function that `guest-abi` names.
#[test]
fn every_named_function_is_known() {
    let guests = vec![Guest::new([0], Grant::GLOBAL_HTSTRAND)];
    let world = World::new(Machine::Batoka, 1, &[], guests).unwrap();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    for (name, group, _) in ApiGroup::NAMED {
        let outcome = comparison.call(0, Trap::Core, [group.0, 1, 0, 3, 4, 0]);
        assert_eq!(outcome.regs[0], 0, "simulator/conform/src/oracle/negotiation.rs: no {name}");
    }
    for function in PerfFunction::ALL {
        let outcome = comparison.call(0, Trap::Fast, [0, 1, 2, 3, 4, function.number()]);
        assert_eq!(
            outcome.regs[0],
            0,
            "simulator/conform/src/oracle/call.rs: no {}",
            function.name()
        );
    }
}
