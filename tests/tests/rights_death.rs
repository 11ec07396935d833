//! Tests strands that die between two calls, or in a call while they hold a hub, a lock or the next turn.

use std::sync::mpsc;
use std::thread;

use guest_abi::{Hub, Node};
use perfctr_service::{ChangeError, Unit};
use platform::AccessError;
use tests::board::Board;
use tests::leak;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Grant, Guest, Machine};

const GLOBAL: Grant = Grant::GLOBAL;
const NONE: Grant = Grant::NONE;

/// Returns a two-node Batoka. The machine outlives the test, because a strand that dies in a call never stops using it.
fn machine(grants: [Grant; 2]) -> &'static MachineUnderTest<'static> {
    let board = leak(Board::new(Machine::Batoka, 2, &[]));
    let guests = [Guest::new([0, 3, 64], grants[0]), Guest::new([1, 65], grants[1])];
    leak(MachineUnderTest::ready(board, &guests))
}

/// Makes a call on a thread. The calling strand dies just before its access to the cell.
fn dies(
    machine: &'static MachineUnderTest<'static>,
    cell: Cell,
    call: impl Fn(&MachineUnderTest) + Send + 'static,
) {
    let stop = machine.board().stop_at(cell);
    thread::spawn(move || call(machine));
    stop.wait_until_reached();
}

#[test]
fn a_dead_strand_holds_no_hub() {
    let machine = machine([GLOBAL, NONE]);
    // If the strand has been refused before, it takes the slow path; otherwise, it takes the fast path.
    for refused_before in [false, true] {
        if refused_before {
            machine.board().make_busy_once(1);
            assert_eq!(machine.set(0, 37, 5), 9);
        }
        dies(machine, Cell::Register(37), |machine| {
            machine.set(0, 37, 5);
        });
        for _ in 0..3 {
            assert_eq!(machine.get(3, 36), (9, 0x0bad));
        }
        assert_eq!(machine.get(64, 54).0, 0, "other hubs work on");
        machine.strand_died(65, 0);
        for id in 36..54 {
            assert_eq!(machine.get(3, id), (0, 0), "PerfReg {id}");
        }
        assert!(machine.unit(Unit::Hub(Hub::Zam1)).in_service);
        assert_eq!(machine.awaited(), None);
        // The strand comes back.
        assert!(machine.acknowledge(0));
    }
}

/// The hub forgets a dead strand's turn, so that no other strand is refused because of this turn.
#[test]
fn a_dead_strand_has_no_turn() {
    for dead in [0, 64] {
        let machine = machine([GLOBAL, NONE]);
        machine.board().make_busy_once(0);
        assert_eq!(machine.set(dead, 18, 5), 9);
        machine.strand_died(65, dead);
        // The dead strand already had the turn.
        let answers: Vec<u64> = (0..8).map(|_| machine.get(3, 18).0).collect();
        assert_eq!(answers, [0; 8], "strand {dead}");
    }
}

#[test]
fn an_l2_set_that_died_half_way_is_out_of_service_until_it_is_scrubbed() {
    for bank in 0..8 {
        let machine = machine([GLOBAL, NONE]);
        for bank in 0..8 {
            let cell = Cell::L2 { node: 0, bank };
            machine.board().put(cell, 0x40 + bank as u64);
        }
        assert_eq!(machine.set(0, 1, 1), 0);
        // The call first reads all eight banks and then writes them, so its second access to a bank is the write.
        let cell = Cell::L2 { node: 0, bank };
        let reading = machine.board().stop_at(cell);
        let (told, tell) = mpsc::channel();
        thread::spawn(move || {
            told.send(()).unwrap();
            machine.set(3, 1, 2);
        });
        tell.recv().unwrap();
        reading.wait_until_reached();
        let writing = machine.board().stop_at(cell);
        reading.resume();
        writing.wait_until_reached();

        assert_eq!(machine.set(0, 1, 3), 9, "the lock is taken");
        assert_eq!(machine.get(0, 1), (0, 1), "a get takes no lock");
        let unit = Unit::L2(Node::Node0);
        // The call might still end, so the service treats the unit as busy.
        let not_clean = ChangeError::NotClean(unit, AccessError::Busy);
        assert_eq!(machine.return_to_service(1, unit), Err(not_clean));
        machine.strand_died(65, 3);
        let state = machine.unit(unit);
        assert!(!state.in_service && !state.clean && state.faults == 0);
        assert_eq!(machine.get(0, 1), (10, 0x0bad));
        assert_eq!(machine.get(64, 1), (0, 0), "the other node works on");
        assert_eq!(machine.return_to_service(1, unit), Ok(()));
        assert_eq!(machine.get(0, 1), (0, 0));
        for bank in 0..8 {
            let cell = Cell::L2 { node: 0, bank };
            assert_eq!(machine.board().value_of(cell), 0x40 + bank as u64);
        }
    }
}

/// One strand accesses L2 control while another strand of its node dies.
#[test]
fn a_strand_that_lives_keeps_l2_control() {
    let machine = machine([GLOBAL, NONE]);
    let stop = machine.board().stop_at(Cell::L2 { node: 0, bank: 3 });
    thread::scope(|scope| {
        let call = scope.spawn(|| machine.set(0, 1, 2));
        stop.wait_until_reached();
        machine.strand_died(65, 1);
        let in_service = machine.unit(Unit::L2(Node::Node0)).in_service;
        let meanwhile = machine.set(3, 1, 1);
        stop.resume();
        assert_eq!(call.join().unwrap(), 0);
        assert!(in_service);
        assert_eq!(meanwhile, 9, "the strand is still in its call");
    });
    assert_eq!(machine.get(0, 1), (0, 2));
}

#[test]
fn a_transfer_does_not_wait_for_dead_strands() {
    let machine = machine([Grant::GLOBAL_STRAND, NONE]);
    for strand in [0, 3, 64] {
        assert_eq!(machine.set(strand, 0, 0x11), 0);
        machine.board().put_pic(strand, 5);
    }
    assert_eq!(machine.set(0, 18, 0x55), 0);
    assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
    assert!(machine.acknowledge(0) && machine.acknowledge(64));
    assert_eq!(machine.awaited(), Some([3].into()));
    assert_eq!(machine.get(1, 18).0, 10);
    machine.strand_died(65, 3);
    machine.acknowledge(65);
    // The operator's strand is on node 1, so a strand of node 0 is asked to scrub L2 control.
    assert_eq!(machine.awaited(), Some([0].into()));
    assert!(machine.acknowledge(0));
    assert_eq!(machine.awaited(), None);
    assert_eq!(machine.get(1, 18), (0, 0));

    // Later transfers do not wait for the dead strand.
    assert_eq!(machine.reconfigure(&[GLOBAL, NONE]), Ok(()));
    assert!(machine.acknowledge(1) && machine.acknowledge(65) && machine.acknowledge(1));
    assert_eq!(machine.awaited(), None);

    // If the strand comes back, it clears its registers before it does anything else.
    assert_eq!(machine.board().pcrs()[&3], 0x11);
    assert!(machine.acknowledge(3));
    assert_eq!(machine.board().pcrs()[&3], 0);
    assert_eq!(machine.board().pics()[&3], 0);
    assert_eq!(machine.reconfigure(&[Grant::GLOBAL_STRAND, NONE]), Ok(()));
    assert_eq!(machine.reconfigure(&[NONE, NONE]), Ok(()));
    // The transfer waits for strand 3 again.
    assert_eq!(machine.awaited(), Some([0, 3, 64].into()));
}

/// The node has no strand left to scrub its L2 control.
#[test]
fn l2_control_without_a_strand_is_out_of_service() {
    let machine = machine([GLOBAL, NONE]);
    assert_eq!(machine.set(64, 1, 2), 0);
    assert_eq!(machine.set(0, 1, 2), 0);
    machine.strand_died(65, 64);
    assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
    machine.acknowledge(0);
    machine.acknowledge(3);
    assert_eq!(machine.awaited(), None);
    assert_eq!(machine.get(65, 1), (10, 0x0bad));
    assert_eq!(machine.get(1, 1), (0, 0));
    let unit = Unit::L2(Node::Node1);
    assert_eq!(machine.return_to_service(65, unit), Ok(()));
    assert_eq!(machine.get(65, 1), (0, 0));
}

/// A strand that holds the transfer's lock dies in the middle of scrubbing. The next strand continues the scrub.
#[test]
fn the_strand_that_scrubs_dies() {
    let machine = machine([GLOBAL, NONE]);
    for id in (2..10).chain(18..90) {
        assert_eq!(machine.set(0, id, 7), 0);
    }
    assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
    machine.acknowledge(3);
    machine.acknowledge(64);
    let stop = machine.board().stop_at(Cell::Register(60));
    thread::spawn(move || machine.acknowledge(0));
    stop.wait_until_reached();
    assert_eq!(machine.board().value_of(Cell::Register(59)), 0);
    // The dead strand had acknowledged, but had not finished scrubbing.
    assert_eq!(machine.awaited(), Some([].into()));
    assert_eq!(machine.get(1, 2).0, 10);
    let error = machine.reconfigure(&[GLOBAL, NONE]).unwrap_err();
    assert_eq!(error.to_string(), "another strand is working on a change");
    machine.begin_reset(1);
    assert_eq!(machine.get(1, 2).0, 7);
    machine.strand_died(65, 0);
    machine.complete_transfer();
    assert_eq!(machine.negotiate(1, 1, 1), 0);
    for strand in [1, 65] {
        for id in (1..10).chain(18..90) {
            assert_eq!(machine.get(strand, id), (0, 0), "PerfReg {id}");
        }
    }
}
