//! Tests transfers of rights while calls, or acknowledgements of earlier transfers, are in flight.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use tests::board::Board;
use tests::leak;
use tests::machine::{MachineUnderTest, grant, guest_id};
use tests::oracle::{Cell, Grant, Guest, Machine};

const GLOBAL: Grant = Grant::GLOBAL;
const NONE: Grant = Grant::NONE;

/// A guest loses its right while one of its strands is in a call that is about to write to a register. The transfer waits for the call,
/// and then scrubs the value that the call has written.
#[test]
fn a_call_in_flight_is_waited_for() {
    for (id, cell) in [
        (2, Cell::Register(2)),
        (9, Cell::Register(9)),
        (18, Cell::Register(18)),
        (1, Cell::L2 { node: 0, bank: 0 }),
        (1, Cell::L2 { node: 0, bank: 7 }),
    ] {
        let board = Board::new(Machine::Batoka, 2, &[]);
        let guests = [Guest::new([0, 1, 64], GLOBAL), Guest::new([2, 66], NONE)];
        let machine = MachineUnderTest::ready(&board, &guests);
        let stop = board.stop_at(cell);
        thread::scope(|scope| {
            let call = scope.spawn(|| machine.set(0, id, 3));
            stop.wait_until_reached();
            assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
            assert!(machine.acknowledge(1) && machine.acknowledge(64));
            // While strand 0 is in a call, it takes no cross-call.
            assert_eq!(machine.awaited(), Some([0].into()));
            assert_eq!(machine.get(1, id).0, 10);
            assert_eq!(machine.get(2, id).0, 10, "PerfReg {id}");
            stop.resume();
            assert_eq!(call.join().unwrap(), 0, "the call began before the transfer");
        });
        assert_ne!(board.value_of(cell), 0);
        assert_eq!(machine.get(2, id).0, 10, "PerfReg {id}");
        machine.complete_transfer();
        assert_eq!(board.value_of(cell), 0);
        assert_eq!(machine.get(2, id), (0, 0));
    }
}

/// A strand is reported dead although it is alive, and is just acknowledging a transfer. Then a second transfer begins, for which the
/// strand has to scrub more. Its acknowledgement counts for the second transfer only after this larger scrub.
#[test]
fn an_acknowledgement_of_an_older_transfer_does_not_count() {
    /// The board lets this number of %pcr writes return. Later writes take effect, but do not return yet. `WRITTEN` counts all writes
    /// so far.
    static ALLOWED: AtomicU32 = AtomicU32::new(0);
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let board = leak(Board::new(Machine::Maramba, 1, &[]));
    board.after_pcr_writes(|_| {
        let written = WRITTEN.fetch_add(1, Ordering::SeqCst);
        while written >= ALLOWED.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    });
    let guests = [Guest::new([0], Grant::HTSTRAND)];
    let machine = leak(MachineUnderTest::new(board, &guests).with_operator(9));
    board.put_pcr(0, 0xf);
    board.put_pic(0, 0x77);

    assert_eq!(machine.reconfigure(&[Grant::STRAND]), Ok(()));
    assert_eq!(machine.awaited(), Some([0].into()));
    thread::scope(|scope| {
        let acknowledges = scope.spawn(|| machine.acknowledge(0));
        let writes = |times| {
            while WRITTEN.load(Ordering::SeqCst) < times {
                assert!(!acknowledges.is_finished(), "it has acknowledged already");
                thread::yield_now();
            }
        };
        // The strand has cleared HT, but has not acknowledged.
        writes(1);
        machine.strand_died(9, 0);
        assert_eq!(machine.awaited(), None, "a dead strand is not waited for");
        assert_eq!(machine.reconfigure(&[NONE]), Ok(()));
        assert_eq!(machine.awaited(), None, "nor in a later transfer");
        ALLOWED.store(1, Ordering::SeqCst);
        // The strand notices the second transfer by itself, and clears all of %pcr.
        writes(2);
        assert_eq!(board.pcrs()[&0], 0);
        ALLOWED.store(2, Ordering::SeqCst);
        assert!(acknowledges.join().unwrap());
    });
    assert_eq!((board.pcrs()[&0], board.pics()[&0]), (0, 0));
}

/// Only strand 64 can scrub the L2 control of node 1. It acknowledges even before the sender of the cross-call continues. So at that
/// time, the sender must not hold the transfer's lock, which the strand needs.
#[test]
fn a_strand_that_is_asked_to_scrub_finds_the_lock_free() {
    static MACHINE: OnceLock<MachineUnderTest<'static>> = OnceLock::new();
    let board = leak(Board::new(Machine::Batoka, 2, &[]));
    board.before_cross_calls(|strand| MACHINE.get().unwrap().service().cross_called(strand));
    let guests = [Guest::new([0, 64], GLOBAL), Guest::new([1, 65], NONE)];
    let machine = MACHINE.get_or_init(|| MachineUnderTest::new(board, &guests).with_operator(2));
    for holder in [1, 0, 1] {
        for node in [0, 1] {
            // PERF_CONFIG is in bits 37:36.
            board.put(Cell::L2 { node, bank: 3 }, 2 << 36);
        }
        let mut grants = [NONE; 2];
        grants[holder] = GLOBAL;
        assert_eq!(machine.reconfigure(&grants), Ok(()));
        assert_eq!(machine.awaited(), None);
        assert_eq!(machine.service().held(guest_id(holder)), grant(GLOBAL));
        for node in [0, 1] {
            assert_eq!(board.value_of(Cell::L2 { node, bank: 3 }), 0, "node {node}");
        }
    }
}
