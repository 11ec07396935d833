//! Threads set PERF_CONFIG of one node. To other strands, a write is a single step. Only the two bits of PERF_CONFIG ever change.

use std::thread;

use tests::board::{Board, Logged};
use tests::machine::MachineUnderTest;
use tests::oracle::{Action, Cell, Grant, Guest, Machine, Target};

const ROUNDS: u64 = tests::rounds(600);

/// Returns the other bits of an L2 control register. They differ in each register, and are on both sides of PERF_CONFIG.
fn others(node: usize, bank: usize) -> u64 {
    (0x0f1e_2d3c_4b5a_6978_u64).rotate_left((8 * node + bank) as u32) & !(0b11 << 36)
}

/// Asserts that the accesses on one node are writes and reads of PERF_CONFIG, one after another. A write of PERF_CONFIG writes one
/// value to all banks. A read of PERF_CONFIG reads bank 0.
fn check_steps(log: &[Logged], node: usize) -> (usize, usize) {
    let mut log = log;
    let (mut sets, mut gets) = (0, 0);
    let mut config = 0;
    while let Some((strand, first)) = log.first() {
        let step: Vec<&Logged> = log.iter().take_while(|(other, _)| other == strand).collect();
        let writes = |access: &Logged| matches!(access.1.action, Action::Write(_));
        // A strand may read PERF_CONFIG right before it writes. Then the second access is to bank 0 again.
        let is_set = step.get(1).is_some_and(|next| next.1.target != first.target || writes(next));
        if !is_set {
            assert_eq!(first.action, Action::Read);
            assert_eq!(first.target, Target::Address(0xa9_0000_0000));
            gets += 1;
            log = &log[1..];
            continue;
        }
        let (step, rest) = log.split_at(16);
        assert!(step.iter().all(|(other, _)| other == strand), "a set in two parts: {step:?}");
        let mut written: Vec<(Target, u64)> = (step.iter())
            .filter_map(|(_, access)| match access.action {
                Action::Write(value) => Some((access.target, value)),
                Action::Read => None,
            })
            .collect();
        written.sort_unstable();
        assert_eq!(written.len(), 8);
        config = written[0].1 >> 36 & 0b11;
        for (bank, (target, value)) in written.into_iter().enumerate() {
            assert_eq!(target, Target::Address(0xa9_0000_0000 + 0x40 * bank as u64));
            assert_eq!(value, others(node, bank) | config << 36, "bank {bank}");
        }
        sets += 1;
        log = rest;
    }
    assert!(config < 4);
    (sets, gets)
}

#[test]
fn a_set_is_one_step() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    for node in 0..2 {
        for bank in 0..8 {
            board.put(Cell::L2 { node, bank }, others(node, bank));
        }
    }
    let strands = [0, 1, 2, 3, 64, 65];
    let machine = MachineUnderTest::new(&board, &[Guest::new(strands, Grant::GLOBAL)]);
    assert_eq!(machine.negotiate(0, 1, 0), 0);
    let (mut sets, mut gets) = (0, 0);
    thread::scope(|scope| {
        let workers = strands.map(|strand| {
            let machine = &machine;
            scope.spawn(move || {
                let (mut sets, mut gets) = (0, 0);
                for round in 0..ROUNDS {
                    let config = (round + u64::from(strand)) % 4;
                    // A strand waits for the lock for a bounded number of tries. After these tries, the call returns EWOULDBLOCK.
                    match machine.set(strand, 1, config) {
                        0 => sets += 1,
                        status => assert_eq!(status, 9),
                    }
                    match machine.get(strand, 1) {
                        (0, value) => {
                            assert!(value < 4);
                            gets += 1;
                        }
                        (status, untouched) => assert_eq!((status, untouched), (9, 0x0bad)),
                    }
                }
                (sets, gets)
            })
        });
        for worker in workers {
            let (own_sets, own_gets) = worker.join().unwrap();
            sets += own_sets;
            gets += own_gets;
        }
    });
    let (first, second): (Vec<Logged>, Vec<Logged>) =
        (board.take_log().into_iter()).partition(|(strand, _)| strand.index() < 64);
    let (first, second) = (check_steps(&first, 0), check_steps(&second, 1));
    assert_eq!((first.0 + second.0, first.1 + second.1), (sets, gets));
    let some = ROUNDS as usize * 5 / 6;
    assert!(sets >= some && gets >= some, "{sets} sets, {gets} gets");
    for node in 0..2 {
        let config = board.holds(Cell::L2 { node, bank: 0 }) & 0b11 << 36;
        for bank in 0..8 {
            let expected = others(node, bank) | config;
            assert_eq!(board.holds(Cell::L2 { node, bank }), expected, "bank {bank}");
        }
    }
}
