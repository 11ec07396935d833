//! Compares writes of PERF_CONFIG with the reference model while L2 banks fault.

use conform::parts::BANKS;
use hv_core::sync::steps;
use tests::board::Board;
use tests::comparison::{Comparison, board};
use tests::leak;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Fault, Grant, Guest, Machine, World};

/// Returns the L2 control register of a bank of node 1.
fn cell(bank: usize) -> Cell {
    Cell::L2 { node: 1, bank }
}

/// Starts a guest on strands 0 and 64. The guest may use the L2 of both nodes. Strand 64 writes `value` to PERF_CONFIG while these banks
/// are broken, and must get ENOACCESS. Then calls `check`.
fn set_fails(
    machine: Machine,
    broken: &[(usize, Fault)],
    value: u64,
    check: impl FnOnce(&mut Comparison, &Board),
) {
    let guests = vec![Guest::new([0, 64], Grant::GLOBAL), Guest::new([5], Grant::NONE)];
    let world = World::new(machine, 2, &[], guests).unwrap();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    comparison.negotiate(0, 1, 1);
    for (bank, value) in BANKS.into_iter().enumerate() {
        comparison.put(cell(bank), value);
    }
    for (bank, fault) in broken {
        comparison.break_cell(cell(*bank), *fault);
    }
    assert_eq!(comparison.set(64, 1, value).regs[..2], [10, value]);
    check(&mut comparison, &board);
}

#[test]
fn an_l2_set_that_faults_at_any_bank_restores_the_others() {
    for fault in [Fault::Always, Fault::WritesAfter(0)] {
        for broken in 0..8 {
            for value in 0..4 {
                set_fails(Machine::Batoka, &[(broken, fault)], value, |both, board| {
                    for (bank, value) in BANKS.into_iter().enumerate() {
                        assert_eq!(board.value_of(cell(bank)), value, "bank {bank}");
                    }
                    assert_eq!(both.get(64, 1).regs[..2], [10, 0x1111_0bad]);
                    assert_eq!(both.get(0, 1).regs[..2], [0, 0]);
                    both.repair_all();
                    assert_eq!(both.get(64, 1).regs[..2], [0, 2]);
                });
            }
        }
    }
}

/// A bank that can be written once, but not restored, keeps the new value. All other banks are restored. When the unit returns to service,
/// PERF_CONFIG is 0 in all banks.
#[test]
fn a_bank_that_cannot_be_restored_does_not_stop_the_others() {
    /// The order in which a write of PERF_CONFIG (register 1) reaches the banks.
    const ORDER: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 0];
    for (number, stuck) in ORDER.into_iter().enumerate() {
        for broken in ORDER.into_iter().skip(number + 1) {
            let broken = [(stuck, Fault::WritesAfter(1)), (broken, Fault::WritesAfter(0))];
            set_fails(Machine::Maramba, &broken, 1, |both, board| {
                let mut expected = BANKS;
                expected[stuck] = BANKS[stuck] & !(0b11 << 36) | 1 << 36;
                for (bank, value) in expected.into_iter().enumerate() {
                    assert_eq!(board.value_of(cell(bank)), value, "bank {bank}");
                }
                both.repair_all();
                for (bank, value) in BANKS.into_iter().enumerate() {
                    let cleared = value & !(0b11 << 36);
                    assert_eq!(board.value_of(cell(bank)), cleared, "bank {bank}");
                }
                assert_eq!(both.get(64, 1).regs[..2], [0, 0]);
            });
        }
    }
}

/// A write of PERF_CONFIG fails at a broken bank, and bank 0 can be written only once. Before each step of the write, another strand of the
/// node reads PERF_CONFIG. This strand never reads the value that the failing call wanted to write.
#[test]
fn what_a_set_that_faults_has_written_is_never_read() {
    for broken in [1, 7] {
        for step in 0.. {
            let board = leak(Board::new(Machine::Batoka, 1, &[]));
            let holder = Guest::new([0, 1], Grant::GLOBAL);
            let machine = leak(MachineUnderTest::ready(board, &[holder]));
            for (bank, writes) in [(0, 1), (broken, 0)] {
                board.break_cell(Cell::L2 { node: 0, bank }, Fault::WritesAfter(writes));
            }
            let reads = move || {
                let answer = machine.get(1, 1);
                assert!(matches!(answer, (0, 0) | (10, 0x0bad)), "step {step}: {answer:?}");
            };
            let (status, within) = steps::interleave_at(step, reads, || machine.set(0, 1, 3));
            assert_eq!(status, 10);
            if !within {
                assert!(step >= 10, "{step} steps");
                break;
            }
        }
    }
}
