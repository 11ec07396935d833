//! Tests the statistics, which count calls by guest, function, register class and status, and reads them while strands make calls.

use guest_abi::trap::VFALLS_GET_PERFREG;
use perfctr_service::statistics::Operation::{self, Get, Set};
use perfctr_service::statistics::Outcome::{self, Ok, Refused};
use perfctr_service::statistics::{Class, Refusal, Statistics};
use std::sync::atomic::{AtomicBool, Ordering};
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{Cell, Fault, Grant, Guest, HubCondition, Machine};

fn statistics_of(machine: &MachineUnderTest, guest: usize) -> Statistics {
    machine.service().statistics(guest_id(guest))
}

/// Returns the nonzero counts, ordered by function, class and outcome.
fn counts(statistics: Statistics) -> Vec<(Operation, Class, Outcome, u64)> {
    let mut counts = Vec::new();
    for operation in [Operation::Get, Operation::Set] {
        for &class in Class::ALL {
            for &outcome in Outcome::ALL {
                let count = statistics.count(operation, class, outcome);
                if count != 0 {
                    counts.push((operation, class, outcome, count));
                }
            }
        }
    }
    counts
}

#[test]
fn every_call_is_counted_once_where_it_belongs() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    let guests = [
        Guest::new([0, 64], Grant::GLOBAL_HTSTRAND),
        Guest::new([1], Grant::STRAND),
        Guest::new([2], Grant::NONE),
    ];
    let machine = MachineUnderTest::new(&board, &guests);
    assert_eq!(machine.get(0, 2).0, 7);
    assert_eq!(machine.set(0, 90, 0), 7);
    for strand in [0, 1] {
        assert_eq!(machine.negotiate(strand, 1, 1), 0);
    }
    for strand in [0, 64] {
        for id in [0, 1, 2, 9, 18, 89] {
            assert_eq!(machine.get(strand, id).0, 0);
        }
        assert_eq!(machine.set(strand, 1, 2), 0);
        assert_eq!(machine.set(strand, 0, 8), 0);
    }
    for id in [90, u64::MAX] {
        assert_eq!(machine.get(64, id).0, 6);
    }
    assert_eq!(machine.get(0, 10).0, 13);
    board.set_hub(1, HubCondition::Busy);
    for _ in 0..3 {
        assert_eq!(machine.set(0, 36, 1), 9);
    }
    board.set_hub(1, HubCondition::Free);
    assert_eq!(machine.set(0, 36, 1), 0);
    board.break_cell(Cell::Register(4), Fault::Always);
    assert_eq!(machine.set(0, 4, 1), 10);
    assert_eq!(machine.set(0, 5, 1), 10);
    assert_eq!(machine.set(1, 0, 1), 0);
    assert_eq!(machine.set(1, 0, 9), 10);
    assert_eq!(machine.get(1, 1).0, 10);
    assert_eq!(machine.get(1, 3).0, 10);
    assert_eq!(machine.get(1, 18).0, 10);
    assert_eq!(
        counts(statistics_of(&machine, 0)),
        [
            (Get, Class::Strand, Ok, 2),
            (Get, Class::L2, Ok, 2),
            (Get, Class::Dram, Ok, 4),
            (Get, Class::Dram, Refused(Refusal::BadTrap), 1),
            (Get, Class::Dram, Refused(Refusal::NotSupported), 1),
            (Get, Class::Hub, Ok, 4),
            (Get, Class::Invalid, Refused(Refusal::Invalid), 2),
            (Set, Class::Strand, Ok, 2),
            (Set, Class::L2, Ok, 2),
            (Set, Class::Dram, Refused(Refusal::NoAccess), 2),
            (Set, Class::Hub, Ok, 1),
            (Set, Class::Hub, Refused(Refusal::WouldBlock), 3),
            (Set, Class::Invalid, Refused(Refusal::BadTrap), 1),
        ]
    );
    assert_eq!(
        counts(statistics_of(&machine, 1)),
        [
            (Get, Class::L2, Refused(Refusal::NoAccess), 1),
            (Get, Class::Dram, Refused(Refusal::NoAccess), 1),
            (Get, Class::Hub, Refused(Refusal::NoAccess), 1),
            (Set, Class::Strand, Ok, 1),
            (Set, Class::Strand, Refused(Refusal::NoAccess), 1),
        ]
    );
    assert_eq!(counts(statistics_of(&machine, 2)), []);
    assert_eq!(statistics_of(&machine, 0).total(), 27);
    assert_eq!(statistics_of(&machine, 0).outcome(Ok), 17);
    let second = machine.service().statistics_of([strand(64)].into_iter().collect());
    assert_eq!((second.total(), second.outcome(Ok)), (10, 8));
    // Calls of unknown functions are not counted.
    for function in [0x105, 0x108, 1 << 32 | VFALLS_GET_PERFREG] {
        machine.trap(0, tests::oracle::Trap::Fast, [2, 1, 2, 3, 4, function]);
    }
    assert_eq!(statistics_of(&machine, 0).total(), 27);
}

/// The statistics are for the operator, so they survive a guest reset.
#[test]
fn a_reset_keeps_the_counts() {
    let board = Board::new(Machine::Maramba, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new([0], Grant::GLOBAL)]);
    machine.negotiate(0, 1, 0);
    assert_eq!(machine.get(0, 2).0, 0);
    machine.reset_guest(0);
    assert_eq!(machine.get(0, 2).0, 7);
    assert_eq!(statistics_of(&machine, 0).total(), 2);
}

/// While strands make calls, the counts never decrease. At the end, they include every call.
#[test]
fn reading_while_strands_call() {
    const CALLS: u64 = 20_000;
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = MachineUnderTest::ready(&board, &[Guest::new(0..4, Grant::GLOBAL_STRAND)]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = statistics_of(&machine, 0);
            let mut seen = 0;
            while !done.load(Ordering::SeqCst) {
                let now = statistics_of(&machine, 0);
                for &outcome in Outcome::ALL {
                    let grows = now.outcome(outcome) >= last.outcome(outcome);
                    assert!(grows, "{outcome:?} went down");
                }
                last = now;
                seen += 1;
            }
            seen
        });
        tests::on_threads(0..4, |strand| {
            for number in 0..CALLS {
                match number % 4 {
                    0 => assert_eq!(machine.get(strand, 2).0, 0),
                    1 => assert_eq!(machine.get(strand, 6).0, 13),
                    2 => assert_eq!(machine.set(strand, 0, 8), 10),
                    _ => assert_eq!(machine.set(strand, 91, 8), 6),
                }
            }
        });
        done.store(true, Ordering::SeqCst);
        assert!(reader.join().unwrap() > 0);
    });
    let expected = [
        (Get, Class::Dram, Ok, CALLS),
        (Get, Class::Dram, Refused(Refusal::NotSupported), CALLS),
        (Set, Class::Strand, Refused(Refusal::NoAccess), CALLS),
        (Set, Class::Invalid, Refused(Refusal::Invalid), CALLS),
    ];
    assert_eq!(counts(statistics_of(&machine, 0)), expected);
}
