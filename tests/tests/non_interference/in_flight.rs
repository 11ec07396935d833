//! Tests guest A's calls while guest B's calls are in flight.

use std::thread;

use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Grant, Guest, Machine, Trap};

use super::run::Observation;

/// Makes every kind of call from A. Returns the calls' statuses and values.
fn sweep(machine: &MachineUnderTest<'_>) -> Vec<Observation> {
    let mut observations = Vec::new();
    let strands = [0, 1, 65];
    let mut call = |strand, trap, registers| {
        let (registers, exited) = machine.trap(strand, trap, registers);
        observations.push((registers, exited, machine.take_console()));
    };
    for minor in [0, 1] {
        call(strands[0], Trap::Core, [0x205, 1, minor, 3, 4, 0]);
        for strand in strands {
            for id in 0..92 {
                call(strand, Trap::Fast, [id, 0x0bad, 2, 3, 4, 0x106]);
                call(strand, Trap::Fast, [id, 5 + id, 2, 3, 4, 0x107]);
                call(strand, Trap::Fast, [id, 0x0bad, 2, 3, 4, 0x106]);
            }
        }
    }
    observations
}

/// B is in a call. Only B may use hubs, memory channels and L2 control, so A is refused, just as it is without B's call.
#[test]
fn while_calls_of_the_other_are_in_flight() {
    for grant in [Grant::NONE, Grant::STRAND, Grant::HTSTRAND] {
        let guests = [Guest::new([0, 1, 65], grant), Guest::new([2, 66], Grant::GLOBAL_HTSTRAND)];
        let board = Board::new(Machine::Batoka, 2, &[]);
        let alone = sweep(&MachineUnderTest::new(&board, &guests));
        for (strand, id, cell) in [
            (2, 1, Cell::L2 { node: 0, bank: 0 }),
            (66, 1, Cell::L2 { node: 1, bank: 0 }),
            (2, 2, Cell::Register(2)),
            (2, 9, Cell::Register(9)),
            (66, 18, Cell::Register(18)),
            (66, 89, Cell::Register(89)),
        ] {
            for function in [0x106, 0x107] {
                let board = Board::new(Machine::Batoka, 2, &[]);
                let machine = MachineUnderTest::new(&board, &guests);
                assert_eq!(machine.negotiate(2, 1, 1), 0);
                let stop = board.stop_at(cell);
                thread::scope(|scope| {
                    let call = || machine.trap(strand, Trap::Fast, [id, 1, 2, 3, 4, function]);
                    let other = scope.spawn(call);
                    stop.wait_until_reached();
                    let observations = sweep(&machine);
                    stop.resume();
                    assert_eq!(other.join().unwrap().0[0], 0);
                    assert_eq!(observations, alone, "PerfReg {id}, {function:#x}");
                });
            }
        }
    }
}
