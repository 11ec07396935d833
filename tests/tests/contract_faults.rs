//! Banks of an L2 that fault one at a time, or after some writes, against the reference model: what is left of a set.

use tests::comparison::{Comparison, board};
use tests::oracle::{Cell, Fault, Grant, Guest, Machine, World};

/// A guest with the first strand of both nodes, which may use their L2, and a neighbour without rights.
fn world(machine: Machine) -> World {
    let guests = vec![
        Guest::new([0, 64], Grant::GLOBAL),
        Guest::new([5], Grant::NONE),
    ];
    World::new(machine, 2, &[], guests).unwrap()
}

fn start(comparison: &mut Comparison, minor: u64) {
    for guest in 0..2 {
        comparison.reset_guest(guest);
        comparison.negotiate(comparison.world.guests[guest].strands[0], 1, minor);
    }
}

/// Contents of the eight L2 control registers of node 1: PERF_CONFIG 2, and other bits that differ from bank to bank.
const BANKS: [u64; 8] = [
    0x20_0000_0000,
    0x20_0000_0001,
    0x21_fe00_0002,
    0x20_001f_8003,
    0xffff_ffef_ffff_ffff,
    0x20_0000_7ff8,
    0x8000_0020_0000_0006,
    0x20_0000_0007,
];

/// A set of PERF_CONFIG that fails at bank k leaves every bank as it was, whichever bank it is.
#[test]
fn an_l2_set_that_faults_at_any_bank_restores_the_others() {
    for fault in [Fault::Always, Fault::WritesAfter(0)] {
        for broken in 0..8 {
            for value in 0..4 {
                let world = world(Machine::Batoka);
                let board = board(&world);
                let mut comparison = Comparison::new(world, &board);
                start(&mut comparison, 1);
                for (bank, value) in BANKS.into_iter().enumerate() {
                    comparison.put(Cell::L2 { node: 1, bank }, value);
                }
                let cell = Cell::L2 {
                    node: 1,
                    bank: broken,
                };
                comparison.break_cell(cell, fault);
                let out = comparison.set(64, 1, value);
                assert_eq!(out.regs[..2], [13, value]);
                for (bank, value) in BANKS.into_iter().enumerate() {
                    assert_eq!(
                        board.holds(Cell::L2 { node: 1, bank }),
                        value,
                        "bank {bank}"
                    );
                }
                assert_eq!(comparison.get(64, 1).regs[..2], [13, 0x1111_0bad]);
                assert_eq!(comparison.get(0, 1).regs[..2], [0, 0]);
                comparison.mend();
                assert_eq!(comparison.get(64, 1).regs[..2], [0, 2]);
            }
        }
    }
}

/// A bank that can be written once but not put back keeps the new value; all others are put back.
#[test]
fn a_bank_that_cannot_be_put_back_does_not_stop_the_others() {
    for stuck in 0..7 {
        for broken in stuck + 1..8 {
            let world = world(Machine::Maramba);
            let board = board(&world);
            let mut comparison = Comparison::new(world, &board);
            start(&mut comparison, 1);
            for (bank, value) in BANKS.into_iter().enumerate() {
                comparison.put(Cell::L2 { node: 1, bank }, value);
            }
            let bank = |bank| Cell::L2 { node: 1, bank };
            comparison.break_cell(bank(stuck), Fault::WritesAfter(1));
            comparison.break_cell(bank(broken), Fault::WritesAfter(0));
            assert_eq!(comparison.set(64, 1, 1).regs[..2], [13, 1]);
            for (number, value) in BANKS.into_iter().enumerate() {
                let expected = if number == stuck {
                    value & !(0b11 << 36) | 1 << 36
                } else {
                    value
                };
                assert_eq!(board.holds(bank(number)), expected, "bank {number}");
            }
        }
    }
}
