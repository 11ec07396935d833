//! Tests transfers of rights from guest to guest, one step at a time.

use std::collections::BTreeSet;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::{ChangeError, Unit};
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Access, Action, Cell, Fault, Grant, Guest, Machine, Target};

const EVERY_BIT: u64 = u64::MAX;

/// All bits of an L2 control register except the field PERF_CONFIG.
const OTHER_BITS: u64 = 0x8000_0041_2345_678f & !(0b11 << 36);

/// Returns the registers that `global` covers for a guest with strands on nodes 0 and 1, except register 1.
fn registers() -> impl Iterator<Item = u64> {
    (2..10).chain(18..90)
}

fn board() -> Board {
    let board = Board::new(Machine::Batoka, 2, &[]);
    for node in 0..2 {
        for bank in 0..8 {
            board.put(Cell::L2 { node, bank }, OTHER_BITS);
        }
    }
    board
}

/// Returns a machine on which guest 0 has strands 0 and 64, guest 1 has strands 1 and 65, and guest 2 has strand 2.
fn machine<'a>(board: &'a Board, grants: [Grant; 3]) -> MachineUnderTest<'a> {
    let [first, second, third] = grants;
    let guests = [Guest::new([0, 64], first), Guest::new([1, 65], second), Guest::new([2], third)];
    MachineUnderTest::ready(board, &guests)
}

/// Writes every register that `global` covers, including register 1 on both nodes.
fn use_global(machine: &MachineUnderTest, strands: [u16; 2]) {
    for id in registers() {
        assert_eq!(machine.set(strands[0], id, EVERY_BIT), 0, "PerfReg {id}");
    }
    for strand in strands {
        assert_eq!(machine.set(strand, 1, 3), 0);
    }
}

/// Asserts that every register that `global` covers is refused.
fn has_no_global(machine: &MachineUnderTest, strand: u16) {
    for id in registers().chain([1]) {
        assert_eq!(machine.get(strand, id), (10, 0x0bad), "PerfReg {id}");
        assert_eq!(machine.set(strand, id, 1), 10, "PerfReg {id}");
    }
}

/// Asserts that every register that `global` covers can be read and is 0.
fn finds_zeros(machine: &MachineUnderTest, strands: [u16; 2]) {
    for strand in strands {
        for id in registers().chain([1]) {
            assert_eq!(machine.get(strand, id), (0, 0), "PerfReg {id}");
        }
    }
}

/// Asserts that no register holds a guest's value.
fn all_is_scrubbed(board: &Board) {
    for (cell, value) in board.cells() {
        let expected = match cell {
            Cell::L2 { .. } => OTHER_BITS,
            Cell::Register(_) => 0,
        };
        assert_eq!(value, expected, "{cell:?}");
    }
}

#[test]
fn global_goes_from_one_guest_to_another() {
    let board = board();
    let machine = machine(&board, [Grant::GLOBAL_HTSTRAND, Grant::STRAND, Grant::NONE]);
    use_global(&machine, [0, 64]);
    assert_eq!(machine.set(64, 0, 0xd), 0);
    board.put_pic(64, 0x1234);
    let before = board.cells();

    assert_eq!(machine.reconfigure(&[Grant::HTSTRAND, Grant::GLOBAL_STRAND, Grant::NONE]), Ok(()));
    assert_eq!(machine.awaited(), Some([0, 64].into()));
    assert_eq!(board.cross_calls(), BTreeSet::from([0, 64]));
    for strand in [0, 64, 1, 65] {
        has_no_global(&machine, strand);
    }
    assert_eq!(board.cells(), before, "scrubbed too early");
    // The transfer does not include register 0.
    assert_eq!(machine.get(64, 0), (0, 0xd));
    assert_eq!(machine.set(1, 0, 5), 0);

    assert!(machine.acknowledge(0));
    assert_eq!(machine.awaited(), Some([64].into()));
    assert_eq!(board.cells(), before, "a call may be in flight");
    has_no_global(&machine, 1);

    // Strand 64 acknowledges last. It scrubs everything except the L2 control of node 0, which a strand of node 0 is asked to scrub.
    assert!(machine.acknowledge(64));
    assert_eq!(machine.awaited(), Some([0].into()));
    assert_eq!(board.value_of(Cell::L2 { node: 0, bank: 7 }) >> 36 & 3, 3);
    assert_eq!(board.value_of(Cell::L2 { node: 1, bank: 7 }), OTHER_BITS);
    has_no_global(&machine, 1);
    assert!(machine.acknowledge(0));
    assert_eq!(machine.awaited(), None);
    assert!(board.cross_calls().is_empty());

    all_is_scrubbed(&board);
    finds_zeros(&machine, [1, 65]);
    has_no_global(&machine, 0);
    has_no_global(&machine, 64);
    // Guest 0 still has `htstrand`.
    assert_eq!(machine.get(64, 0), (0, 0xd));
    assert_eq!(board.pics()[&64], 0x1234);
    use_global(&machine, [1, 65]);
}

#[test]
fn a_strand_that_loses_its_right_clears_its_registers() {
    let board = board();
    let machine = machine(&board, [Grant::HTSTRAND, Grant::HTSTRAND, Grant::NONE]);
    for (number, strand) in [0, 64, 1, 65].into_iter().enumerate() {
        assert_eq!(machine.set(strand, 0, 0x1_0000 | 0xe), 0);
        board.put_pic(strand, 100 + number as u64);
    }
    assert_eq!(machine.reconfigure(&[Grant::NONE, Grant::HTSTRAND, Grant::STRAND]), Ok(()));
    assert_eq!(machine.awaited(), Some([0, 64].into()));
    assert_eq!(machine.get(0, 0), (10, 0x0bad));
    assert_eq!(machine.set(64, 0, 0), 10);
    assert_eq!(board.pcrs()[&0], 0x1_000e, "only the strand itself can clear it");
    // The third guest gets a right that no guest loses, so it has this right immediately.
    assert_eq!(machine.get(2, 0), (0, 0));
    assert!(machine.acknowledge(64));
    assert_eq!((board.pcrs()[&64], board.pics()[&64]), (0, 0));
    assert_eq!((board.pcrs()[&0], board.pics()[&0]), (0x1_000e, 100));
    assert!(machine.acknowledge(0));
    assert_eq!(machine.awaited(), None);
    assert_eq!((board.pcrs()[&0], board.pics()[&0]), (0, 0));
    for strand in [1, 65] {
        assert_eq!(machine.get(strand, 0), (0, 0x1_000e));
        assert!(board.pics()[&strand] >= 102);
    }
}

#[test]
fn htstrand_becomes_strand_and_back() {
    let board = board();
    let machine = machine(&board, [Grant::GLOBAL_HTSTRAND, Grant::NONE, Grant::NONE]);
    for strand in [0, 64] {
        assert_eq!(machine.set(strand, 0, 0xc000_0000_0000_000f), 0);
        board.put_pic(strand, 77);
    }
    assert_eq!(machine.set(0, 2, 0x21), 0);
    assert_eq!(machine.reconfigure(&[Grant::GLOBAL_STRAND, Grant::NONE, Grant::NONE]), Ok(()));
    assert_eq!(machine.set(0, 0, 0x9), 10, "HT is revoked at once");
    assert_eq!(machine.set(0, 0, 0x5), 0, "the rest of PCR is not");
    assert_eq!(machine.get(0, 2), (0, 0x21));
    board.take_log();
    machine.complete_transfer();
    // The value includes HOLDOV0 and HOLDOV1, so a counter that overflows between the read and the write of the PCR keeps its OV bit.
    let cleared = Access::done(Target::Pcr, Action::Write(0xc000_0000_0000_0007));
    let log = board.take_log();
    assert!(log.iter().any(|(by, access)| (by.number(), *access) == (64, cleared)), "{log:?}");
    assert_eq!(board.pcrs()[&0], 0x5);
    assert_eq!(board.pcrs()[&64], 0x7);
    assert_eq!(board.pics()[&64], 77);
    assert_eq!(machine.get(0, 2), (0, 0x21), "global is not touched");
    assert_eq!(machine.reconfigure(&[Grant::GLOBAL_HTSTRAND, Grant::NONE, Grant::NONE]), Ok(()));
    assert_eq!(machine.awaited(), None);
    assert_eq!(machine.set(0, 0, 0x9), 0);
}

#[test]
fn a_rejected_configuration_changes_nothing() {
    let board = board();
    let machine = machine(&board, [Grant::GLOBAL_HTSTRAND, Grant::STRAND, Grant::NONE]);
    use_global(&machine, [0, 64]);
    let before = (board.cells(), board.pcrs());
    let two = [Grant::GLOBAL, Grant::GLOBAL, Grant::HTSTRAND];
    let error = machine.reconfigure(&two).unwrap_err();
    assert_eq!(error.to_string(), "guests 0 and 1 both have global; one guest of a machine can");
    let error = machine.reconfigure(&two[1..]).unwrap_err();
    assert_eq!(error.to_string(), "the configuration is for 2 guests; there are 3");
    assert_eq!(machine.awaited(), None);
    assert!(board.cross_calls().is_empty());
    assert_eq!((board.cells(), board.pcrs()), before);
    assert_eq!(machine.set(0, 0, 0xf), 0);
    assert_eq!(machine.get(64, 2), (0, 0xff));
    assert_eq!(machine.set(1, 0, 8), 10);
    assert_eq!(machine.get(2, 0).0, 10);
}

/// Only the newest configuration is in force. A guest never gets a right that was granted only by an earlier configuration, since replaced.
#[test]
fn a_newer_transfer_replaces_a_pending_one() {
    let board = board();
    let machine = machine(&board, [Grant::GLOBAL, Grant::NONE, Grant::NONE]);
    use_global(&machine, [0, 64]);
    let to_second = [Grant::NONE, Grant::GLOBAL, Grant::NONE];
    let to_third = [Grant::NONE, Grant::NONE, Grant::GLOBAL];
    assert_eq!(machine.reconfigure(&to_second), Ok(()));
    assert!(machine.acknowledge(64));
    assert_eq!(machine.reconfigure(&to_third), Ok(()));
    // The transfer also waits for guest 1, which never had the right. This wait is harmless.
    assert_eq!(machine.awaited(), Some([0, 1, 65].into()));
    for strand in [0, 1, 2] {
        assert_eq!(machine.get(strand, 2).0, 10);
    }
    machine.complete_transfer();
    all_is_scrubbed(&board);
    assert_eq!(machine.get(2, 2), (0, 0));
    assert_eq!(machine.get(1, 18).0, 10);

    // The right returns to the guest that had it before, and the registers are still scrubbed.
    assert_eq!(machine.set(2, 18, 0x1234), 0);
    assert_eq!(machine.reconfigure(&to_second), Ok(()));
    assert_eq!(machine.reconfigure(&to_third), Ok(()));
    assert_eq!(machine.get(2, 18).0, 10);
    machine.all_acknowledge();
    assert_eq!(machine.get(2, 18), (0, 0));
}

#[test]
fn a_unit_that_cannot_be_scrubbed_is_out_of_service_until_it_is() {
    let grants = [Grant::GLOBAL, Grant::NONE, Grant::NONE];
    let after = [Grant::NONE, Grant::GLOBAL, Grant::NONE];
    for (unit, cell, id) in [
        (Unit::Mcu(Node::Node1, Mcu::Mcu0), Cell::Register(7), 7),
        (Unit::Hub(Hub::Zam2), Cell::Register(60), 60),
        (Unit::L2(Node::Node1), Cell::L2 { node: 1, bank: 5 }, 1),
    ] {
        let board = board();
        let machine = machine(&board, grants);
        use_global(&machine, [0, 64]);
        board.break_cell(cell, Fault::WritesAfter(0));
        assert_eq!(machine.reconfigure(&after), Ok(()));
        // The transfer does not wait for the broken unit.
        machine.complete_transfer();
        let state = machine.unit(unit);
        assert!(!state.in_service && !state.clean && state.faults == 1);
        assert_eq!(machine.get(65, id), (10, 0x0bad));
        assert_ne!(board.value_of(cell) & !OTHER_BITS, 0);

        // The broken unit does not return to service before it is scrubbed.
        let error = machine.return_to_service(64, unit);
        assert!(matches!(error, Err(ChangeError::NotClean(of, _)) if of == unit));
        assert_eq!(machine.unit(unit).faults, 2);
        assert_eq!(machine.get(65, id), (10, 0x0bad));
        board.repair();
        if let Unit::L2(_) = unit {
            let error = machine.return_to_service(0, unit);
            assert_eq!(error, Err(ChangeError::OtherNode(unit)));
            assert_eq!(machine.get(65, id), (10, 0x0bad));
        }
        assert_eq!(machine.return_to_service(64, unit), Ok(()));
        let state = machine.unit(unit);
        assert!(state.in_service && state.clean);
        finds_zeros(&machine, [1, 65]);
        all_is_scrubbed(&board);
    }
}

/// A transfer does not access a unit that is out of service. The unit is scrubbed when it returns, whether the transfer is complete or
/// still pending.
#[test]
fn a_unit_that_was_out_of_service_is_scrubbed_when_it_returns() {
    for returns_while_pending in [false, true] {
        for (unit, id, on) in [
            (Unit::Mcu(Node::Node0, Mcu::Mcu1), 4, 0),
            (Unit::Hub(Hub::Zam0), 18, 64),
            (Unit::L2(Node::Node1), 1, 64),
        ] {
            let board = board();
            let machine = machine(&board, [Grant::GLOBAL, Grant::NONE, Grant::NONE]);
            use_global(&machine, [0, 64]);
            let cell = match unit {
                Unit::L2(_) => Cell::L2 { node: 1, bank: 0 },
                _ => Cell::Register(id),
            };
            board.break_cell(cell, Fault::Always);
            assert_eq!(machine.set(64, id, 1), 10);
            board.repair();
            let before = board.cells();
            let after = [Grant::NONE, Grant::GLOBAL, Grant::NONE];
            assert_eq!(machine.reconfigure(&after), Ok(()));
            assert_eq!(machine.get(1, 2).0, 10);
            if returns_while_pending {
                assert_eq!(machine.return_to_service(on, unit), Ok(()));
                assert_eq!(machine.get(65, id).0, 10, "no guest has the unit");
                assert_eq!(board.cells(), before, "a call may be in flight");
            }
            machine.complete_transfer();
            if !returns_while_pending {
                assert_eq!(board.value_of(cell), before[&cell], "the unit was accessed");
                assert_eq!(machine.get(65, id), (10, 0x0bad));
                assert_eq!(machine.return_to_service(on, unit), Ok(()));
            }
            finds_zeros(&machine, [1, 65]);
            all_is_scrubbed(&board);
        }
    }
}

#[test]
fn a_unit_that_the_machine_lacks_does_not_return() {
    let board = Board::new(Machine::Maramba, 1, &[(0, 1)]);
    let machine = MachineUnderTest::ready(&board, &[Guest::new([0], Grant::GLOBAL)]);
    for unit in [
        Unit::Mcu(Node::Node0, Mcu::Mcu1),
        Unit::Mcu(Node::Node1, Mcu::Mcu0),
        Unit::Hub(Hub::Zam0),
        Unit::L2(Node::Node1),
    ] {
        let before = machine.unit(unit);
        assert_eq!(machine.return_to_service(0, unit), Err(ChangeError::NoSuchUnit(unit)));
        assert_eq!(machine.unit(unit), before);
    }
    assert_eq!(machine.return_to_service(0, Unit::L2(Node::Node0)), Ok(()));
}

#[test]
fn a_unit_that_returns_to_the_same_guest_keeps_its_contents() {
    let board = board();
    let machine = machine(&board, [Grant::GLOBAL, Grant::NONE, Grant::NONE]);
    use_global(&machine, [0, 64]);
    board.break_cell(Cell::Register(3), Fault::Always);
    assert_eq!(machine.get(0, 3).0, 10);
    board.repair();
    let unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);
    assert_eq!(machine.return_to_service(0, unit), Ok(()));
    assert_eq!(machine.get(0, 3), (0, u64::MAX));
}

/// A guest that negotiates while a transfer is pending gets the version, but not the right that it is waiting for.
#[test]
fn negotiation_gives_no_right_that_is_being_transferred() {
    let board = board();
    let machine = machine(&board, [Grant::GLOBAL_STRAND, Grant::NONE, Grant::NONE]);
    assert_eq!(machine.reconfigure(&[Grant::STRAND, Grant::GLOBAL, Grant::NONE]), Ok(()));
    for minor in [0, 1, 1] {
        for strand in [0, 1] {
            assert_eq!(machine.negotiate(strand, 1, minor), 0);
            assert_eq!(machine.get(strand, 2).0, 10);
            assert_eq!(machine.get(strand, 18).0, if minor == 1 { 10 } else { 13 });
        }
        assert_eq!(machine.get(0, 0), (0, 0));
    }
    machine.all_acknowledge();
    has_no_global(&machine, 0);
    finds_zeros(&machine, [1, 65]);
}
