//! Strands that stop, or die, between two steps of a change, while others go on.

use std::collections::BTreeMap;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;

use guest_abi::{HvError, Node, StrandId};
use hv_core::trace::{Event, Trace};
use hv_core::{Caller, Negotiated, NegotiatedVersion, Service};
use perfctr_service::{Grant, Grants, GuestConfig, PerfCounterService, StrandRight};
use platform::{Machine, Model, StrandRegisters};
use tests::board::Board;
use tests::machine::{guest_id, strand};
use tests::oracle::{self, Cell};

/// The second version of the group.
const V1_1: NegotiatedVersion = NegotiatedVersion::new(2);
const NONE: Grant = Grant::NONE;
const GLOBAL: Grant = Grant {
    strand: StrandRight::None,
    global: true,
};
const STRAND: Grant = Grant {
    strand: StrandRight::Strand,
    global: false,
};

/// Where a strand stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// It is about to record the event of this number.
    Event(u16),
    /// It is about to call this strand.
    CrossCall(u16),
}

const REVOKED: At = At::Event(16);
const HELD: At = At::Event(17);
const CHANGE_PENDING: At = At::Event(18);
const CHANGE_COMPLETE: At = At::Event(19);

/// How a strand that stops tells, and is told to go on.
type Talk = (mpsc::Sender<()>, mpsc::Receiver<()>);

/// Stops strands, and keeps the numbers of the events that they record.
struct Stops {
    board: &'static Board,
    /// By the place, and by the strand if that is known there.
    wanted: Mutex<BTreeMap<(At, Option<u16>), Talk>>,
    recorded: Mutex<Vec<At>>,
}

/// The other side of a strand that stops.
struct Stopped {
    reached: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl Stopped {
    fn reached(&self) {
        self.reached.recv().expect("a strand that gets there");
    }

    fn go_on(self) {
        self.go_on.send(()).expect("a strand that waits");
    }

    /// It never goes on.
    fn dies(self) {
        self.reached();
        std::mem::forget(self);
    }
}

impl Stops {
    /// The strand stops when it is next there.
    fn stop(&self, at: At, on: Option<u16>) -> Stopped {
        let ((tell, reached), (go_on, told)) = (mpsc::channel(), mpsc::channel());
        self.wanted.lock().unwrap().insert((at, on), (tell, told));
        Stopped { reached, go_on }
    }

    fn pass(&self, at: At, on: Option<u16>) {
        let wanted = self.wanted.lock().unwrap().remove(&(at, on));
        if let Some((tell, told)) = wanted {
            tell.send(()).unwrap();
            told.recv().expect("somebody who tells it to go on");
        }
    }
}

impl Trace for &'static Stops {
    fn is_on(&self) -> bool {
        true
    }

    fn time(&self, _: StrandId) -> Option<u64> {
        Some(1)
    }

    fn record<E: Event>(&self, on: StrandId, _: u64, _: E) {
        let at = At::Event(E::ID);
        self.pass(at, Some(on.index() as u16));
        self.recorded.lock().unwrap().push(at);
    }
}

impl StrandRegisters for Stops {
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
        self.pass(At::CrossCall(strand.index() as u16), None);
        self.board.cross_call(strand);
    }
}

/// A service on a Batoka with two nodes that outlives the test, as a strand that has died in it keeps it for ever.
#[derive(Clone, Copy)]
struct System {
    board: &'static Board,
    stops: &'static Stops,
    service: &'static PerfCounterService<&'static Board, &'static Stops, &'static Stops>,
}

fn config<const N: usize>(strands: [u16; N], grant: Grant) -> GuestConfig {
    GuestConfig {
        strands: strands.map(strand).into_iter().collect(),
        grant,
        compatible: false,
    }
}

impl System {
    fn new(guests: &[GuestConfig]) -> Self {
        let board: &'static Board =
            Box::leak(Box::new(Board::new(oracle::Machine::Batoka, 2, &[])));
        let stops: &'static Stops = Box::leak(Box::new(Stops {
            board,
            wanted: Mutex::default(),
            recorded: Mutex::default(),
        }));
        let machine = Machine::new(Model::Batoka, 2).unwrap();
        let service = PerfCounterService::with_trace(machine, board, stops, guests, stops).unwrap();
        let system = Self {
            board,
            stops,
            service: Box::leak(Box::new(service)),
        };
        for guest in 0..guests.len() {
            system.negotiates(guest);
        }
        system
    }

    fn negotiates(self, guest: usize) {
        self.service
            .version_changed(guest_id(guest), &Negotiated::new(V1_1));
    }

    fn get(self, guest: usize, number: u16, id: u64) -> Result<u64, HvError> {
        let (guest, strand) = (guest_id(guest), strand(number));
        let version = Negotiated::new(V1_1);
        let context = self.service.context(Caller { guest, strand }, &version);
        context.get(id, V1_1)
    }

    fn set(self, guest: usize, number: u16, id: u64, value: u64) -> Result<(), HvError> {
        let (guest, strand) = (guest_id(guest), strand(number));
        let version = Negotiated::new(V1_1);
        let context = self.service.context(Caller { guest, strand }, &version);
        context.set(id, value, V1_1)
    }

    /// The operator, on a strand, grants a guest this, and the others what they have or, if it is `global`, not that.
    fn grants(self, on: u16, guest: usize, grant: Grant) {
        let mut all = self.service.grants();
        for other in 0..all.guests() {
            let has = all.get(guest_id(other));
            let global = has.global && !grant.global;
            all.set(guest_id(other), Grant { global, ..has }).unwrap();
        }
        all.set(guest_id(guest), grant).unwrap();
        self.service.reconfigure(strand(on), &all).unwrap();
    }

    /// Another strand does something.
    fn beside(self, does: impl FnOnce(Self) + Send + 'static) -> thread::JoinHandle<()> {
        thread::spawn(move || does(self))
    }

    fn answers(self, number: u16) -> bool {
        let waits = self.board.take_cross_call(number);
        if waits {
            self.service.cross_called(strand(number));
        }
        waits
    }

    /// Events of these kinds, in order.
    fn recorded(self, kinds: &[At]) -> Vec<At> {
        let recorded = self.stops.recorded.lock().unwrap();
        let of_these = recorded.iter().filter(|at| kinds.contains(at));
        of_these.copied().collect()
    }

    fn all_answer(self) {
        for _ in 0..100 {
            if let Some(&next) = self.board.cross_calls().first() {
                self.answers(next);
            }
        }
        assert_eq!(self.service.pending(), None);
    }
}

/// A strand gives guests what they are granted, and has not come to guest 1 yet, when that is reset by another.
#[test]
fn who_is_reset_is_not_given_its_rights_back_uncleared() {
    let system = System::new(&[config([0], NONE), config([1], GLOBAL)]);
    assert_eq!(system.set(1, 1, 2, 0x21), Ok(()));
    let at_guest_0 = system.stops.stop(HELD, Some(9));
    let operator = system.beside(|system| system.grants(9, 0, STRAND));
    at_guest_0.reached();
    system.service.guest_reset(guest_id(1), strand(10));
    assert_eq!(system.service.held(guest_id(1)), NONE);
    at_guest_0.go_on();
    operator.join().unwrap();
    assert_eq!(system.recorded(&[HELD]).len(), 1, "guest 0 alone");
    system.negotiates(1);
    assert_eq!(system.get(1, 1, 2), Err(HvError::NoAccess));
    system.all_answer();
    assert_eq!(system.recorded(&[HELD]).len(), 2);
    assert_eq!(system.get(1, 1, 2), Ok(0));
}

#[test]
fn a_reset_that_its_strand_died_in_clears_all_the_same() {
    let system = System::new(&[config([0], Grant::ALL)]);
    assert_eq!(system.set(0, 0, 2, 0x21), Ok(()));
    assert_eq!(system.set(0, 0, 0, 0xf), Ok(()));
    system.board.put_pic(0, 77);
    let in_reset = system.stops.stop(REVOKED, Some(9));
    system.beside(|system| system.service.guest_reset(guest_id(0), strand(9)));
    in_reset.dies();
    system.service.strand_died(strand(10), strand(9));
    assert!(system.answers(0));
    system.all_answer();
    system.negotiates(0);
    assert_eq!(system.get(0, 0, 2), Ok(0));
    assert_eq!((system.board.pcrs()[&0], system.board.pics()[&0]), (0, 0));
}

/// Strand 9 says that strand 0 has died, and dies itself before it has called it. Strand 0 comes back.
#[test]
fn who_comes_back_is_called_whoever_died_meanwhile() {
    let system = System::new(&[config([0, 3], GLOBAL), config([1], NONE)]);
    let about_to_call = system.stops.stop(At::CrossCall(0), None);
    system.beside(|system| system.service.strand_died(strand(9), strand(0)));
    about_to_call.dies();
    system.service.strand_died(strand(10), strand(9));
    assert!(system.answers(0));
    // So the next change waits for it.
    let access = system.board.stop_at(Cell::Register(2));
    let call = system.beside(|system| assert_eq!(system.set(0, 0, 2, 0x33), Ok(())));
    access.reached();
    system.grants(10, 1, GLOBAL);
    assert!(system.answers(3));
    assert!(system.service.pending().is_some());
    assert_eq!(system.get(1, 1, 2), Err(HvError::NoAccess));
    access.go_on();
    call.join().unwrap();
    system.all_answer();
    assert_eq!(system.get(1, 1, 2), Ok(0));
}

/// Strand 9 takes `global` from guest 0, and dies before it has called anybody.
#[test]
fn who_is_asked_is_called_whoever_died_meanwhile() {
    let system = System::new(&[config([0, 64], GLOBAL), config([1], NONE)]);
    assert_eq!(system.set(0, 0, 2, 0x21), Ok(()));
    let about_to_call = system.stops.stop(At::CrossCall(0), None);
    system.beside(|system| system.grants(9, 1, GLOBAL));
    about_to_call.dies();
    assert!(system.board.cross_calls().is_empty() && system.service.pending().is_some());
    system.service.strand_died(strand(10), strand(9));
    assert!(system.answers(0) && system.answers(64));
    system.all_answer();
    assert_eq!(system.get(1, 1, 2), Ok(0));
}

/// The strands answer before the operator has recorded that it waits for them.
#[test]
fn the_end_of_a_change_is_recorded_last() {
    let system = System::new(&[config([0], GLOBAL), config([1], NONE)]);
    let pending = system.stops.stop(CHANGE_PENDING, Some(9));
    let operator = system.beside(|system| system.grants(9, 1, GLOBAL));
    pending.reached();
    system.all_answer();
    pending.go_on();
    operator.join().unwrap();
    let of_change = [CHANGE_PENDING, CHANGE_COMPLETE];
    assert_eq!(system.recorded(&of_change), of_change);
}

const ROUNDS: usize = 20_000;

/// One of strands 0 and 255 is asked and has not answered, at every moment.
#[test]
fn a_change_that_is_pending_all_the_time_is_seen_to_be() {
    let board: &'static Board = Box::leak(Box::new(Board::new(oracle::Machine::Batoka, 4, &[])));
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let guests = [config([0], STRAND), config([255], STRAND)];
    let service = PerfCounterService::new(machine, board, board, &guests).unwrap();
    let to = |grants: [Grant; 2]| {
        let mut all = Grants::none(2);
        for (guest, grant) in grants.into_iter().enumerate() {
            all.set(guest_id(guest), grant).unwrap();
        }
        service.reconfigure(strand(9), &all).unwrap();
    };
    to([NONE, STRAND]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) && service.pending().is_some() {
                hint::spin_loop();
            }
            assert!(done.load(Ordering::SeqCst), "there was a moment");
        });
        for _ in 0..ROUNDS {
            to([NONE, NONE]);
            service.cross_called(strand(0));
            to([STRAND, NONE]);
            to([NONE, NONE]);
            service.cross_called(strand(255));
            to([NONE, STRAND]);
            if watcher.is_finished() {
                break;
            }
        }
        done.store(true, Ordering::SeqCst);
    });
}
