//! Rights that change hands while calls are in flight: nothing that a loser does late is left, and an answer counts for what
//! it was given to.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use guest_abi::{Node, StrandId};
use perfctr_service::{Grant, Grants, GuestConfig, PerfCounterService, StrandRight};
use platform::{Machine, Model, StrandRegisters};
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{self, Cell, Guest};

const GLOBAL: oracle::Grant = oracle::Grant::GLOBAL;
const NONE: oracle::Grant = oracle::Grant::NONE;

/// A call of the loser is stopped right before its access. The change waits for it, and clears what it writes.
#[test]
fn a_call_in_flight_is_waited_for() {
    for (id, cell) in [
        (2, Cell::Register(2)),
        (9, Cell::Register(9)),
        (18, Cell::Register(18)),
        (1, Cell::L2 { node: 0, bank: 0 }),
        (1, Cell::L2 { node: 0, bank: 7 }),
    ] {
        let board = Board::new(oracle::Machine::Batoka, 2, &[]);
        let guests = [Guest::new([0, 1, 64], GLOBAL), Guest::new([2, 66], NONE)];
        let machine = MachineUnderTest::new(&board, &[], &guests);
        assert_eq!(machine.negotiate(0, 1, 1), 0);
        assert_eq!(machine.negotiate(2, 1, 1), 0);
        let stop = board.stop_at(cell);
        thread::scope(|scope| {
            let call = scope.spawn(|| machine.set(0, id, 3));
            stop.reached();
            assert_eq!(machine.reconfigure(&[NONE, GLOBAL]), Ok(()));
            assert!(machine.answer(1) && machine.answer(64));
            // Strand 0 is in a call, and takes no cross-call.
            assert_eq!(machine.awaited(), Some([0].into()));
            assert_eq!(machine.get(1, id).0, 10);
            assert_eq!(machine.get(2, id).0, 10, "PerfReg {id}");
            stop.go_on();
            assert_eq!(call.join().unwrap(), 0, "the call had begun before");
        });
        assert_ne!(board.holds(cell), 0);
        assert_eq!(machine.get(2, id).0, 10, "PerfReg {id}");
        machine.all_answer();
        assert_eq!(machine.awaited(), None);
        assert_eq!(board.holds(cell), 0);
        assert_eq!(machine.get(2, id), (0, 0));
    }
}

/// A strand that stops in the middle of its answer, right after it has written %pcr.
struct Stopping {
    board: &'static Board,
    /// How often it may do so without stopping.
    allowed: AtomicU32,
    written: AtomicU32,
}

impl StrandRegisters for Stopping {
    fn node(&self, strand: StrandId) -> Node {
        self.board.node(strand)
    }

    fn pcr(&self, strand: StrandId) -> u64 {
        self.board.pcr(strand)
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        self.board.set_pcr(strand, value);
        let written = self.written.fetch_add(1, Ordering::SeqCst);
        while written >= self.allowed.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.board.set_pic(strand, value);
    }

    fn ticks(&self, strand: StrandId) -> u64 {
        self.board.ticks(strand)
    }

    fn cross_call(&self, strand: StrandId) {
        self.board.cross_call(strand);
    }
}

/// A strand is half through its answer to one change when the next comes, which wants more of it. In between it was even
/// believed dead. Its answer does not count for the second change before it has done what that asks for.
#[test]
fn an_answer_to_an_older_change_does_not_count() {
    let board: &'static Board = Box::leak(Box::new(Board::new(oracle::Machine::Maramba, 1, &[])));
    let grant = |strand| Grant {
        strand,
        global: false,
    };
    let config = GuestConfig {
        strands: [strand(0)].into_iter().collect(),
        grant: grant(StrandRight::HtStrand),
        compatible: false,
    };
    let registers: &'static Stopping = Box::leak(Box::new(Stopping {
        board,
        allowed: AtomicU32::new(0),
        written: AtomicU32::new(0),
    }));
    let machine = Machine::new(Model::Maramba, 1).unwrap();
    let service = PerfCounterService::new(machine, board, registers, &[config]).unwrap();
    let service = Box::leak(Box::new(service));
    let to = |right| {
        let mut grants = Grants::none(1);
        grants.set(guest_id(0), grant(right)).unwrap();
        service.reconfigure(strand(9), &grants).unwrap()
    };
    board.put_pcr(0, 0xf);
    board.put_pic(0, 0x77);

    assert!(to(StrandRight::Strand).is_some());
    thread::scope(|scope| {
        let service = &*service;
        assert!(board.take_cross_call(0));
        let answering = scope.spawn(move || service.cross_called(strand(0)));
        let writes = |times| {
            while registers.written.load(Ordering::SeqCst) < times {
                assert!(!answering.is_finished(), "it has answered");
                thread::yield_now();
            }
        };
        // It has cleared HT, and not answered.
        writes(1);
        service.strand_died(strand(9), strand(0));
        assert_eq!(service.pending(), None, "a dead strand is not waited for");
        assert!(to(StrandRight::None).is_none(), "nor later");
        registers.allowed.store(1, Ordering::SeqCst);
        // It has seen the newer request by itself, and clears all.
        writes(2);
        assert_eq!(board.pcrs()[&0], 0);
        registers.allowed.store(2, Ordering::SeqCst);
        answering.join().unwrap();
    });
    assert_eq!((board.pcrs()[&0], board.pics()[&0]), (0, 0));
}

/// Strands that answer a cross-call before whoever sent it goes on.
struct Prompt {
    board: &'static Board,
    service: OnceLock<&'static PerfCounterService<&'static Board, &'static Prompt>>,
}

impl StrandRegisters for Prompt {
    fn node(&self, strand: StrandId) -> Node {
        self.board.node(strand)
    }

    fn pcr(&self, strand: StrandId) -> u64 {
        self.board.pcr(strand)
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        self.board.set_pcr(strand, value);
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.board.set_pic(strand, value);
    }

    fn ticks(&self, strand: StrandId) -> u64 {
        self.board.ticks(strand)
    }

    fn cross_call(&self, strand: StrandId) {
        let service = self.service.get().expect("a service that is made");
        service.cross_called(strand);
    }
}

/// L2 control of node 1 is cleared by strand 64 only. It finds the lock of changes free when it answers, however quick it is.
#[test]
fn who_is_asked_to_clear_finds_the_lock_free() {
    let board: &'static Board = Box::leak(Box::new(Board::new(oracle::Machine::Batoka, 2, &[])));
    let registers: &'static Prompt = Box::leak(Box::new(Prompt {
        board,
        service: OnceLock::new(),
    }));
    let config = |strands: [u16; 2], global| GuestConfig {
        strands: strands.map(strand).into_iter().collect(),
        grant: Grant {
            strand: StrandRight::None,
            global,
        },
        compatible: false,
    };
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    let guests = [config([0, 64], true), config([1, 65], false)];
    let service = PerfCounterService::new(machine, board, registers, &guests).unwrap();
    let service = Box::leak(Box::new(service));
    assert!(registers.service.set(service).is_ok());
    for holder in [1, 0, 1] {
        for node in [0, 1] {
            // PERF_CONFIG is bits 37:36.
            board.put(Cell::L2 { node, bank: 3 }, 2 << 36);
        }
        let mut grants = Grants::none(2);
        let global = Grant {
            strand: StrandRight::None,
            global: true,
        };
        grants.set(guest_id(holder), global).unwrap();
        assert_eq!(service.reconfigure(strand(2), &grants), Ok(None));
        assert_eq!(service.held(guest_id(holder)), global);
        for node in [0, 1] {
            assert_eq!(board.holds(Cell::L2 { node, bank: 3 }), 0, "node {node}");
        }
    }
}
