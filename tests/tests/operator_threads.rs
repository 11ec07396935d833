//! Tests that one unit stays out of service while the operator returns another to service and strands keep trying to access the first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::Unit;
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Fault, Grant, Guest, Machine};

/// Runs `operator` several hundred times. Meanwhile, strands 0 to 2 read and write these registers, and must get ENOACCESS.
fn stays_closed(machine: &MachineUnderTest, ids: [u64; 3], operator: impl Fn()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for (strand, id) in (0..3).zip(ids) {
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    assert_eq!(machine.get(strand, id), (10, 0x0bad), "PerfReg {id}");
                    assert_eq!(machine.set(strand, id, 1), 10, "PerfReg {id}");
                }
            });
        }
        for _ in 0..tests::rounds(300) {
            operator();
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(machine.board().take_log().is_empty());
}

/// Returns a machine on which a call to register `id` has found a fault, so that the register's unit is out of service.
fn with_a_fault<'a>(board: &'a Board, id: u64) -> MachineUnderTest<'a> {
    let machine = MachineUnderTest::ready(board, &[Guest::new(0..3, Grant::GLOBAL)]);
    board.break_cell(Cell::Register(id), Fault::Always);
    assert_eq!(machine.get(0, id).0, 10);
    board.repair();
    board.take_log();
    machine
}

#[test]
fn another_unit_is_mended() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = with_a_fault(&board, 2);
    stays_closed(&machine, [2, 3, 2], || {
        machine.return_to_service(9, Unit::Mcu(Node::Node0, Mcu::Mcu1)).unwrap();
    });
    let machine = with_a_fault(&board, 18);
    stays_closed(&machine, [18, 35, 20], || {
        machine.return_to_service(9, Unit::Hub(Hub::Zam1)).unwrap();
    });
}
