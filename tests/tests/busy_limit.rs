//! Tests units that stay busy. Calls return EWOULDBLOCK until the limit, measured by the calling strand's clock. Then the unit goes out of
//! service.

use std::thread;

use guest_abi::{Hub, Node};
use perfctr_service::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE, Unit};
use tests::board::Board;
use tests::leak;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Grant, Guest, HubCondition, Machine};

const UNIT: Unit = Unit::Hub(Hub::Zam1);

/// Returns a machine with two guests: one with strands 0, 1 and 64 and the right `global`, the other with strand 2 and no rights.
fn machine() -> &'static MachineUnderTest<'static> {
    let board = leak(Board::new(Machine::Batoka, 2, &[]));
    let guests = [Guest::new([0, 1, 64], Grant::GLOBAL), Guest::new([2], Grant::NONE)];
    leak(MachineUnderTest::ready(board, &guests))
}

/// Reads a register of hub 1 once per item. Each item is a strand, the time that the strand's clock shows, and the expected status.
fn played(machine: &MachineUnderTest, calls: &[(u16, u64, u64)]) {
    for (number, (strand, ticks, status)) in calls.iter().enumerate() {
        machine.board().set_ticks(*strand, *ticks);
        assert_eq!(machine.get(*strand, 36).0, *status, "call {number}");
    }
}

/// Returns times from `from` to `to - 1`. They are spaced so closely that the service sees no pause between calls at these times.
fn without_pause(from: u64, to: u64) -> impl Iterator<Item = u64> {
    (from..to).step_by(PAUSE as usize).chain([to - 1])
}

/// Reads a register of hub 1 repeatedly, starting at time `from`. The calls must be refused until the limit. At most `later` ticks after
/// the limit, the hub must be out of service.
fn waits_for_limit(machine: &MachineUnderTest, strand: u16, from: u64, later: u64) {
    let calls: Vec<_> = without_pause(from, from + LIMIT).map(|ticks| (strand, ticks, 9)).collect();
    played(machine, &calls);
    let before = machine.unit(UNIT);
    assert!(before.in_service);
    played(machine, &[(strand, from + LIMIT + later, 10)]);
    assert_eq!(machine.unit(UNIT).stuck, before.stuck + 1);
}

#[test]
fn a_chip_that_is_busy_for_ever() {
    let machine = machine();
    let board = machine.board();
    board.set_hub(1, HubCondition::Busy);
    // The strand has been waiting since its first refusal.
    waits_for_limit(machine, 0, 5000, 0);
    let state = machine.unit(UNIT);
    assert!(!state.in_service && state.clean);
    assert_eq!((state.faults, state.stuck), (0, 1));
    // The hub is out of service for every guest, and calls no longer access the chip.
    board.take_log();
    for strand in [0, 1, 64, 2] {
        for id in 36..54 {
            assert_eq!(machine.get(strand, id), (10, 0x0bad));
            assert_eq!(machine.set(strand, id, 1), 10);
        }
    }
    assert!(board.take_log().is_empty());
    assert_eq!(machine.get(64, 54), (0, 0), "other hubs work on");

    // If the hub returns to service while it is still busy, the wait starts again from zero.
    assert_eq!(machine.return_to_service(0, UNIT), Ok(()));
    waits_for_limit(machine, 0, 5000 + LIMIT, 0);
    assert_eq!(machine.unit(UNIT).stuck, 2);
    board.set_hub(1, HubCondition::Free);
    assert_eq!(machine.return_to_service(0, UNIT), Ok(()));
    played(machine, &[(0, 8 * LIMIT, 0), (1, 8 * LIMIT, 0)]);
}

/// The service never compares the clocks of two strands. Clocks may wrap.
#[test]
fn each_strand_has_its_own_clock() {
    let machine = machine();
    let board = machine.board();
    board.set_hub(1, HubCondition::Busy);
    // Each strand asks several times. Some of its calls are refused for another reason: another strand has the turn.
    let worst = |strand, ticks| {
        board.set_ticks(strand, ticks);
        let statuses: Vec<u64> = (0..8).map(|_| machine.get(strand, 36).0).collect();
        *statuses.iter().max().unwrap()
    };
    assert_eq!(worst(64, u64::MAX - 3), 9);
    for ticks in without_pause(PAUSE - 4, LIMIT - 4) {
        assert_eq!(worst(0, ticks / 2), 9);
        assert_eq!(worst(1, 90 * LIMIT + ticks / 3), 9);
        assert_eq!(worst(64, ticks), 9);
    }
    assert_eq!(worst(64, LIMIT - 4), 10);
}

/// A successful access by any strand restarts the wait.
#[test]
fn an_access_that_takes_place_is_progress() {
    let machine = machine();
    let board = machine.board();
    for server in [0, 1] {
        board.set_hub(1, HubCondition::Busy);
        for ticks in without_pause(100, LIMIT) {
            played(machine, &[(0, ticks, 9)]);
        }
        board.set_hub(1, HubCondition::Free);
        // Strand 0 has the turn, so other strands are refused four times.
        let served = (0..6).any(|_| machine.get(server, 36).0 == 0);
        assert!(served);
        board.set_hub(1, HubCondition::Busy);
        waits_for_limit(machine, 0, 100 + LIMIT, 0);
        board.set_hub(1, HubCondition::Free);
        assert_eq!(machine.return_to_service(0, UNIT), Ok(()));
        assert!((0..6).any(|_| machine.get(0, 36).0 == 0));
    }
}

#[test]
fn an_access_to_another_hub_is_no_progress() {
    let machine = machine();
    let board = machine.board();
    board.set_hub(1, HubCondition::Busy);
    for ticks in without_pause(100, 100 + LIMIT) {
        played(machine, &[(0, ticks, 9)]);
        assert_eq!(machine.get(0, 18).0, 0);
    }
    played(machine, &[(0, 100 + LIMIT, 10)]);
}

/// A strand takes the hub and never releases it. To the service, this looks like a chip that stays busy forever.
#[test]
fn a_hub_that_is_never_released() {
    let machine = machine();
    let stop = machine.board().stop_at(Cell::Register(40));
    thread::spawn(|| machine.set(1, 40, 1));
    stop.wait_until_reached();
    played(machine, &[(64, 77, 9)]);
    // Two refusals of a strand within `1 << 19` ticks count as one, so the hub may go out of service up to `1 << 19` ticks after the limit.
    waits_for_limit(machine, 0, 10, 1 << 19);
    // Once the strand is reported dead, the hub is free. Once the hub is returned to service, it serves calls.
    machine.strand_died(0, 1);
    assert_eq!(machine.get(0, 36).0, 10);
    assert_eq!(machine.return_to_service(0, UNIT), Ok(()));
    while machine.get(0, 36).0 == 9 {}
    played(machine, &[(64, 3 * LIMIT, 0)]);
}

/// The limit of a hub also applies to writes of a node's L2 control. Reads do not need the lock.
#[test]
fn an_l2_lock_that_is_never_released() {
    let machine = machine();
    let stop = machine.board().stop_at(Cell::L2 { node: 0, bank: 3 });
    thread::spawn(|| machine.set(1, 1, 1));
    stop.wait_until_reached();
    let asks_at = |ticks| {
        machine.board().set_ticks(0, ticks);
        machine.set(0, 1, 1)
    };
    for ticks in without_pause(3, LIMIT + 3) {
        assert_eq!(asks_at(ticks), 9);
        assert_eq!(machine.get(0, 1).0, 0);
    }
    assert_eq!(asks_at(LIMIT + 3), 10);
    let state = machine.unit(Unit::L2(Node::Node0));
    assert!(!state.in_service && state.stuck == 1);
    assert_eq!(machine.get(64, 1).0, 0);
}

/// If a hub is busy, the strand that scrubs it tries again later. A hub that stays busy goes out of service.
#[test]
fn a_busy_hub_is_scrubbed_later_or_not_at_all() {
    let after = [Grant::NONE, Grant::GLOBAL];
    let board = Board::new(Machine::Batoka, 1, &[]);
    let before = [Guest::new([0, 1], Grant::GLOBAL), Guest::new([2], Grant::NONE)];
    let machine = MachineUnderTest::ready(&board, &before);
    for id in 18..90 {
        assert_eq!(machine.set(0, id, 0x55), 0);
    }
    assert_eq!(machine.reconfigure(&after), Ok(()));
    assert!(machine.acknowledge(1));
    for _ in 0..5 {
        board.make_busy_once(2);
        assert!(machine.acknowledge(0));
        assert_eq!(machine.awaited(), Some([0].into()));
        assert_eq!(machine.get(2, 18).0, 10);
    }
    machine.all_acknowledge();
    for id in 18..90 {
        assert_eq!(machine.get(2, id), (0, 0));
        assert_eq!(machine.set(2, id, 0x66), 0);
    }

    board.set_hub(3, HubCondition::Busy);
    assert_eq!(machine.reconfigure(&[Grant::GLOBAL, Grant::NONE]), Ok(()));
    for ticks in without_pause(1, LIMIT + 1) {
        board.set_ticks(2, ticks);
        assert!(machine.acknowledge(2));
        assert_eq!(machine.awaited(), Some([2].into()));
    }
    board.set_ticks(2, LIMIT + 1);
    assert!(machine.acknowledge(2));
    assert_eq!(machine.awaited(), None);
    assert_eq!(machine.get(0, 71), (0, 0));
    assert_eq!(machine.get(0, 72), (10, 0x0bad));
    let unit = Unit::Hub(Hub::Zam3);
    let state = machine.unit(unit);
    assert!(!state.in_service && !state.clean && state.stuck == 1);
    board.set_hub(3, HubCondition::Free);
    assert_eq!(machine.return_to_service(0, unit), Ok(()));
    for id in 72..90 {
        assert_eq!(machine.get(0, id), (0, 0));
    }
}
