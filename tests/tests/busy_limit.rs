//! Units that stay busy: refused with EWOULDBLOCK for a stated time by the strand's own clock, then out of service.

use std::thread;

use guest_abi::{Hub, Node};
use perfctr_service::{BUSY_LIMIT_TICKS as LIMIT, Unit};
use tests::board::Board;
use tests::machine::{MachineUnderTest, strand};
use tests::oracle::{Cell, Grant, Guest, HubCondition, Machine};

const UNIT: Unit = Unit::Hub(Hub::Zam1);

fn with(board: &Board) -> MachineUnderTest<'_> {
    let guests = [
        Guest::new([0, 1, 64], Grant::GLOBAL),
        Guest::new([2], Grant::NONE),
    ];
    let machine = MachineUnderTest::new(board, &[], &guests);
    assert_eq!(machine.negotiate(0, 1, 1), 0);
    assert_eq!(machine.negotiate(2, 1, 1), 0);
    machine
}

/// How calls for hub 1 of strands at times of their clocks end.
fn played(machine: &MachineUnderTest, calls: &[(u16, u64, u64)]) {
    for (number, (strand, ticks, status)) in calls.iter().enumerate() {
        machine.board().set_ticks(*strand, *ticks);
        assert_eq!(machine.get(*strand, 36).0, *status, "call {number}");
    }
}

#[test]
fn a_chip_that_is_busy_for_ever() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    let machine = with(&board);
    board.set_hub(1, HubCondition::Busy);
    // The time begins with the first refusal.
    played(&machine, &[(0, 5000, 9), (0, 5000 + LIMIT - 1, 9)]);
    let state = machine.service().unit(UNIT);
    assert!(state.in_service && state.stuck == 0);
    played(&machine, &[(0, 5000 + LIMIT, 13)]);
    let state = machine.service().unit(UNIT);
    assert!(!state.in_service && state.clean);
    assert_eq!((state.faults, state.stuck), (0, 1));
    // For everyone; and nobody asks the chip again.
    board.take_log();
    for strand in [0, 1, 64, 2] {
        for id in 36..54 {
            assert_eq!(machine.get(strand, id), (13, 0x0bad));
            assert_eq!(machine.set(strand, id, 1), 13);
        }
    }
    assert!(board.take_log().is_empty());
    assert_eq!(machine.get(64, 54), (0, 0), "other hubs work on");

    // It returns, and if it is still busy the time begins anew.
    assert_eq!(machine.service().return_to_service(strand(0), UNIT), Ok(()));
    played(
        &machine,
        &[
            (0, 7000 + LIMIT, 9),
            (0, 6999 + 2 * LIMIT, 9),
            (0, 7000 + 2 * LIMIT, 13),
        ],
    );
    assert_eq!(machine.service().unit(UNIT).stuck, 2);
    board.set_hub(1, HubCondition::Free);
    assert_eq!(machine.service().return_to_service(strand(0), UNIT), Ok(()));
    played(&machine, &[(0, 8 * LIMIT, 0), (1, 8 * LIMIT, 0)]);
}

/// Clocks of strands are never compared with each other, and may wrap.
#[test]
fn each_strand_has_its_own_clock() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    let machine = with(&board);
    board.set_hub(1, HubCondition::Busy);
    // Each asks a few times, because some refusals are on behalf of the others.
    let spins = |strand, ticks| {
        board.set_ticks(strand, ticks);
        let statuses: Vec<u64> = (0..8).map(|_| machine.get(strand, 36).0).collect();
        *statuses.iter().max().unwrap()
    };
    assert_eq!(spins(0, 0), 9);
    assert_eq!(spins(1, 90 * LIMIT), 9);
    assert_eq!(spins(0, LIMIT / 2), 9);
    assert_eq!(spins(64, u64::MAX - 3), 9);
    assert_eq!(spins(1, 91 * LIMIT - 1), 9);
    assert_eq!(spins(64, LIMIT - 5), 9);
    assert_eq!(spins(64, LIMIT - 4), 13);
}

/// Any access that takes place begins the time anew, whoever makes it.
#[test]
fn an_access_that_takes_place_is_progress() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    let machine = with(&board);
    for (server, status) in [(0, 0), (1, 0)] {
        board.set_hub(1, HubCondition::Busy);
        played(&machine, &[(0, 100, 9)]);
        board.set_hub(1, HubCondition::Free);
        // On behalf of strand 0, which has gone, others are refused r = 4 times.
        let mut last = 9;
        for _ in 0..6 {
            last = machine.get(server, 36).0;
            if last == 0 {
                break;
            }
        }
        assert_eq!(last, status);
        board.set_hub(1, HubCondition::Busy);
        played(&machine, &[(0, 200 + LIMIT, 9), (0, 199 + 2 * LIMIT, 9)]);
        board.set_hub(1, HubCondition::Free);
        for _ in 0..6 {
            played(&machine, &[(0, 5 * LIMIT, 0)]);
        }
    }
    // Progress of another hub is none of this one.
    board.set_hub(1, HubCondition::Busy);
    played(&machine, &[(0, 100, 9)]);
    assert_eq!(machine.get(0, 18).0, 0);
    played(&machine, &[(0, 100 + LIMIT, 13)]);
}

/// A strand that has the hub and never gives it back: the same as a chip that is busy for ever.
#[test]
fn a_hub_that_is_never_given_back() {
    let board: &'static Board = Box::leak(Box::new(Board::new(Machine::Batoka, 2, &[])));
    let machine: &'static _ = Box::leak(Box::new(with(board)));
    let stop = board.stop_at(Cell::Register(40));
    thread::spawn(|| machine.set(1, 40, 1));
    stop.reached();
    played(
        machine,
        &[
            (0, 10, 9),
            (64, 77, 9),
            (0, LIMIT + 9, 9),
            (0, LIMIT + 10, 13),
        ],
    );
    assert_eq!(machine.service().unit(UNIT).stuck, 1);
    // What the dead one held is free once that is said, and the hub works again once it is returned.
    machine.service().strand_died(strand(0), strand(1));
    assert_eq!(machine.get(0, 36).0, 13);
    assert_eq!(machine.service().return_to_service(strand(0), UNIT), Ok(()));
    while machine.get(0, 36).0 == 9 {}
    played(machine, &[(64, 3 * LIMIT, 0)]);
}

/// A strand gives the hub back between two refusals of another, which asks once an hour: no reason to take it out of service.
#[test]
fn a_hub_that_is_given_back_and_taken_again() {
    let board: &'static Board = Box::leak(Box::new(Board::new(Machine::Batoka, 2, &[])));
    let machine: &'static _ = Box::leak(Box::new(with(board)));
    let stop = board.stop_at(Cell::Register(40));
    let call = thread::spawn(|| machine.set(1, 40, 1));
    stop.reached();
    played(machine, &[(0, 10, 9)]);
    stop.go_on();
    assert_eq!(call.join().unwrap(), 0);
    // Now the chip is busy for another reason, just then.
    board.make_busy_once(1);
    played(
        machine,
        &[(0, 10 + 3600 * LIMIT, 9), (0, 11 + 3600 * LIMIT, 0)],
    );
    assert!(machine.service().unit(UNIT).in_service);
}

/// The L2 control of a node has the same limit.
#[test]
fn a_lock_that_is_never_given_back() {
    let board: &'static Board = Box::leak(Box::new(Board::new(Machine::Batoka, 2, &[])));
    let machine: &'static _ = Box::leak(Box::new(with(board)));
    let stop = board.stop_at(Cell::L2 { node: 0, bank: 3 });
    thread::spawn(|| machine.set(1, 1, 1));
    stop.reached();
    for (ticks, status) in [(3, 9), (LIMIT + 2, 9), (LIMIT + 3, 13)] {
        board.set_ticks(0, ticks);
        assert_eq!(machine.get(0, 1).0, status);
    }
    let state = machine.service().unit(Unit::L2(Node::Node0));
    assert!(!state.in_service && state.stuck == 1);
    assert_eq!(machine.get(64, 1).0, 0);
}

/// A hub that is busy now and then while it is cleared: the strand comes back to it. One that stays busy is out of service.
#[test]
fn a_busy_hub_is_cleared_later_or_not_at_all() {
    let after = [Grant::NONE, Grant::GLOBAL];
    let board = Board::new(Machine::Batoka, 1, &[]);
    let guests = [
        Guest::new([0, 1], Grant::GLOBAL),
        Guest::new([2], Grant::NONE),
    ];
    let machine = MachineUnderTest::new(&board, &[], &guests);
    for strand in [0, 2] {
        assert_eq!(machine.negotiate(strand, 1, 1), 0);
    }
    for id in 18..90 {
        assert_eq!(machine.set(0, id, 0x55), 0);
    }
    assert_eq!(machine.reconfigure(&after), Ok(()));
    assert!(machine.answer(1));
    for _ in 0..5 {
        board.make_busy_once(2);
        assert!(machine.answer(0));
        assert_eq!(machine.awaited(), Some([0].into()));
        assert_eq!(machine.get(2, 18).0, 10);
    }
    machine.all_answer();
    for id in 18..90 {
        assert_eq!(machine.get(2, id), (0, 0));
        assert_eq!(machine.set(2, id, 0x66), 0);
    }

    board.set_hub(3, HubCondition::Busy);
    assert_eq!(machine.reconfigure(&[Grant::GLOBAL, Grant::NONE]), Ok(()));
    board.set_ticks(2, 1);
    for ticks in [1, 2, LIMIT] {
        board.set_ticks(2, ticks);
        assert!(machine.answer(2));
        assert_eq!(machine.awaited(), Some([2].into()));
    }
    board.set_ticks(2, LIMIT + 1);
    assert!(machine.answer(2));
    assert_eq!(machine.awaited(), None);
    assert_eq!(machine.get(0, 71), (0, 0));
    assert_eq!(machine.get(0, 72), (13, 0x0bad));
    let unit = Unit::Hub(Hub::Zam3);
    let state = machine.service().unit(unit);
    assert!(!state.in_service && !state.clean && state.stuck == 1);
    board.set_hub(3, HubCondition::Free);
    assert_eq!(machine.service().return_to_service(strand(0), unit), Ok(()));
    for id in 72..90 {
        assert_eq!(machine.get(0, id), (0, 0));
    }
}
