//! Tests units that stay busy or fail while they are scrubbed for their next holder.

use std::thread;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::{BUSY_LIMIT_TICKS, BUSY_PAUSE_TICKS, Unit};
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Fault, Grant, Guest, HubCondition, Machine};

const GLOBAL: Grant = Grant::GLOBAL;
const NONE: Grant = Grant::NONE;
const ZAM1: Unit = Unit::Hub(Hub::Zam1);

fn board() -> Board {
    Board::new(Machine::Batoka, 1, &[])
}

/// Passes `global` from the guest on strand 0 to the guest on strand 2. When the scrub of ZAM1 (registers 36 to 53) has reached register
/// 38, `happens` changes the board.
fn half_scrubbed<'a>(board: &'a Board, happens: impl Fn(&Board)) -> MachineUnderTest<'a> {
    let guests = [Guest::new([0], GLOBAL), Guest::new([2], NONE)];
    let machine = MachineUnderTest::ready(board, &guests).with_operator(9);
    for id in 36..90 {
        assert_eq!(machine.set(0, id, 0x77), 0, "PerfReg {id}");
    }
    assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
    let stop = board.stop_at(Cell::Register(39));
    thread::scope(|scope| {
        let scrubs = scope.spawn(|| machine.acknowledge(0));
        stop.wait_until_reached();
        happens(board);
        stop.resume();
        assert!(scrubs.join().unwrap());
    });
    assert_eq!(board.value_of(Cell::Register(38)), 0);
    assert_ne!(board.value_of(Cell::Register(40)), 0);
    machine
}

#[test]
fn scrubbing_a_hub_that_was_busy_goes_on_where_it_stopped() {
    let board = &board();
    let machine = half_scrubbed(board, |board| board.set_hub(1, HubCondition::Busy));
    // ZAM2 and ZAM3 have already been scrubbed.
    assert!((54..90).all(|id| board.value_of(Cell::Register(id)) == 0));
    assert_eq!(machine.get(2, 54).0, 10, "not all is scrubbed");
    board.set_hub(1, HubCondition::Free);
    // Register 36 has already been scrubbed, and no guest can write it now. The value survives only if a later scrub continues after this
    // register instead of starting over.
    board.put(Cell::Register(36), 0x1234);
    machine.complete_transfer();
    assert_eq!(machine.get(2, 36), (0, 0x1234));
    for id in 37..90 {
        assert_eq!(machine.get(2, id), (0, 0), "PerfReg {id}");
    }
}

/// Repairs the hub and returns it to service. The repair leaves a value in a register that has already been scrubbed.
fn repaired(board: &Board, machine: &MachineUnderTest<'_>) {
    machine.complete_transfer();
    let state = machine.unit(ZAM1);
    assert!(!state.in_service && !state.clean);
    assert_eq!(machine.get(2, 54), (0, 0), "the other hubs are in service");
    board.repair();
    board.put(Cell::Register(36), 0x1234);
    assert_eq!(machine.return_to_service(9, ZAM1), Ok(()));
    assert!(machine.unit(ZAM1).clean);
    for id in 36..90 {
        assert_eq!(machine.get(2, id), (0, 0), "PerfReg {id}");
    }
}

#[test]
fn a_hub_that_stays_busy_is_scrubbed_from_the_beginning() {
    let board = &board();
    let machine = half_scrubbed(board, |board| board.set_hub(1, HubCondition::Busy));
    for ticks in (1..=1 + BUSY_LIMIT_TICKS).step_by(BUSY_PAUSE_TICKS as usize) {
        board.set_ticks(0, ticks);
        assert!(machine.acknowledge(0));
    }
    assert_eq!(machine.unit(ZAM1).stuck, 1);
    repaired(board, &machine);
}

#[test]
fn a_hub_that_faults_is_scrubbed_from_the_beginning() {
    let board = &board();
    let machine = half_scrubbed(board, |board| {
        board.break_cell(Cell::Register(40), Fault::Always);
    });
    assert_eq!(machine.unit(ZAM1).faults, 1);
    repaired(board, &machine);
}

/// Only hubs can be busy without a fault. Waiting for any other unit would hold up the transfer, and the next holder, forever.
#[test]
fn a_unit_other_than_a_hub_that_is_busy_is_out_of_service() {
    for (cell, id, unit) in [
        (Cell::Register(2), 2, Unit::Mcu(Node::Node0, Mcu::Mcu0)),
        (Cell::L2 { node: 0, bank: 0 }, 1, Unit::L2(Node::Node0)),
        (Cell::L2 { node: 0, bank: 7 }, 1, Unit::L2(Node::Node0)),
    ] {
        for by_a_call in [true, false] {
            let board = Board::new(Machine::Batoka, 1, &[]);
            board.make_busy(cell);
            let guests = [Guest::new([0], GLOBAL), Guest::new([1], NONE)];
            let machine = MachineUnderTest::ready(&board, &guests).with_operator(9);
            if by_a_call {
                assert_eq!(machine.set(0, id, 1), 10, "{cell:?}");
            } else {
                assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
                assert_eq!(machine.awaited(), Some([0].into()));
                assert!(machine.acknowledge(0));
                assert_eq!(machine.awaited(), None, "{cell:?}");
            }
            let in_service = |unit: &Unit| machine.unit(*unit).in_service;
            let out: Vec<Unit> =
                Unit::ALL.iter().copied().filter(|unit| !in_service(unit)).collect();
            assert_eq!(out, [unit], "{cell:?}, by a call: {by_a_call}");
        }
    }
}

/// The transfer does not wait for the hub, which is scrubbed when it returns to service.
#[test]
fn a_busy_hub_that_is_out_of_service_is_not_waited_for() {
    let board = &board();
    let guests = [Guest::new([0, 1], GLOBAL), Guest::new([2], NONE)];
    let machine = MachineUnderTest::ready(board, &guests).with_operator(9);
    board.set_hub(1, HubCondition::Busy);
    for ticks in (0..=BUSY_LIMIT_TICKS).step_by(BUSY_PAUSE_TICKS as usize) {
        board.set_ticks(0, ticks);
        machine.get(0, 36);
    }
    assert!(!machine.unit(ZAM1).in_service);
    assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
    assert_eq!(machine.awaited(), Some([0, 1].into()));
    // Strand 1 acknowledges last, so it scrubs. Until now, only strand 0 has found the hub busy.
    assert!(machine.acknowledge(0) && machine.acknowledge(1));
    assert_eq!(machine.awaited(), None);
    assert!(!machine.unit(ZAM1).clean);
}
