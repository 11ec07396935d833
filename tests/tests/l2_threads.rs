//! Tests threads that set PERF_CONFIG on one node. Other strands must see a write as a single step, and only the two bits of PERF_CONFIG
//! may change.

use std::collections::BTreeMap;
use std::thread;

use tests::board::{Board, LoggedAccess};
use tests::machine::MachineUnderTest;
use tests::oracle::{Action, Cell, Grant, Guest, Machine, Target};

const ROUNDS: u64 = tests::rounds(600);

/// Returns an L2 control register's bits other than PERF_CONFIG. They differ from register to register, and lie on both sides of
/// PERF_CONFIG.
fn others(node: usize, bank: usize) -> u64 {
    (0x0f1e_2d3c_4b5a_6978_u64).rotate_left((8 * node + bank) as u32) & !(0b11 << 36)
}

/// Asserts that no two calls that write PERF_CONFIG on one node overlap, and that each of them gives PERF_CONFIG the same value in all
/// banks. Also asserts that a call that reads PERF_CONFIG reads bank 0, which writing calls write last. Returns the numbers of writing and
/// reading calls.
fn check_steps(log: &[LoggedAccess], node: usize) -> (usize, usize) {
    let bank = |bank: usize| Target::Address(0xa9_0000_0000 + 0x40 * bank as u64);
    let mut of_strands = BTreeMap::<usize, Vec<(usize, &LoggedAccess)>>::new();
    for (place, access) in log.iter().enumerate() {
        of_strands.entry(access.0.index()).or_default().push((place, access));
    }
    let (mut sets, mut gets) = (Vec::new(), 0);
    for accesses in of_strands.values() {
        let mut rest = &accesses[..];
        while let Some((first, (_, access))) = rest.first() {
            if access.target == bank(0) {
                assert_eq!(access.action, Action::Read);
                gets += 1;
                rest = &rest[1..];
                continue;
            }
            let (set, behind) = rest.split_at(16);
            let mut written: Vec<(Target, u64)> = (set.iter())
                .filter_map(|(_, (_, access))| match access.action {
                    Action::Write(value) => Some((access.target, value)),
                    Action::Read => None,
                })
                .collect();
            assert_eq!((written.len(), written[7].0), (8, bank(0)));
            written.sort_unstable();
            let config = written[0].1 >> 36 & 0b11;
            for (number, (target, value)) in written.into_iter().enumerate() {
                assert_eq!(target, bank(number));
                assert_eq!(value, others(node, number) | config << 36, "bank {number}");
            }
            sets.push((*first, set[15].0));
            rest = behind;
        }
    }
    sets.sort_unstable();
    assert!(sets.is_sorted_by(|(_, last), (first, _)| last < first), "two sets at the same time");
    (sets.len(), gets)
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
                    // A strand tries to take the lock a limited number of times. Then the call returns EWOULDBLOCK.
                    match machine.set(strand, 1, config) {
                        0 => sets += 1,
                        status => assert_eq!(status, 9),
                    }
                    let (status, value) = machine.get(strand, 1);
                    assert!(status == 0 && value < 4, "{status}, {value:#x}");
                    gets += 1;
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
    let (first, second): (Vec<LoggedAccess>, Vec<LoggedAccess>) =
        (board.take_log().into_iter()).partition(|(strand, _)| strand.index() < 64);
    let (first, second) = (check_steps(&first, 0), check_steps(&second, 1));
    assert_eq!((first.0 + second.0, first.1 + second.1), (sets, gets));
    let some = ROUNDS as usize * 5 / 6;
    assert!(sets >= some && gets >= some, "{sets} sets, {gets} gets");
    for node in 0..2 {
        let config = board.value_of(Cell::L2 { node, bank: 0 }) & 0b11 << 36;
        for bank in 0..8 {
            let expected = others(node, bank) | config;
            assert_eq!(board.value_of(Cell::L2 { node, bank }), expected, "bank {bank}");
        }
    }
}
