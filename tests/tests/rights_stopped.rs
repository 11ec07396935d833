//! Tests strands that stop or die between two steps of a transfer while other strands continue.

use std::collections::BTreeMap;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::{self, JoinHandle};

use guest_abi::StrandId;
use hv_core::trace::{Trace, TraceEvent};
use tests::board::Board;
use tests::leak;
use tests::machine::{MachineUnderTest, grant, guest_id, strand};
use tests::oracle::{Cell, Grant, Guest, Machine};

const NONE: Grant = Grant::NONE;
const GLOBAL: Grant = Grant::GLOBAL;
const STRAND: Grant = Grant::STRAND;

/// The point where a strand stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StopPoint {
    /// The strand stops before it records the event with this number.
    Event(u16),
    /// The strand stops before it sends a cross-call to this strand.
    CrossCall(u16),
}

const REVOKED: StopPoint = StopPoint::Event(16);
const HELD: StopPoint = StopPoint::Event(17);
const CHANGE_PENDING: StopPoint = StopPoint::Event(18);
const CHANGE_COMPLETE: StopPoint = StopPoint::Event(19);

/// The channels of a strand that stops. The first tells the test that the strand has stopped, and the second tells the strand to continue.
type Channels = (mpsc::Sender<()>, mpsc::Receiver<()>);

/// Stops strands, and stores the numbers of the events that they record.
#[derive(Default)]
struct Stops {
    /// The channels of strands that are to stop. The key is the point at which a strand stops and, if the caller knows it, the strand's
    /// number.
    wanted: Mutex<BTreeMap<(StopPoint, Option<u16>), Channels>>,
    recorded: Mutex<Vec<StopPoint>>,
}

/// The test's end of the channels to a strand that is to stop.
struct Stopped {
    reached: mpsc::Receiver<()>,
    resume: mpsc::Sender<()>,
}

impl Stopped {
    fn wait_until_reached(&self) {
        self.reached.recv().expect("a strand that stops");
    }

    fn resume(self) {
        self.resume.send(()).expect("a strand that waits");
    }

    /// Waits until the strand stops, and never lets it continue.
    fn kill(self) {
        self.wait_until_reached();
        std::mem::forget(self);
    }
}

impl Stops {
    /// Stops the strand when it next reaches `at`.
    fn stop(&self, at: StopPoint, on: Option<u16>) -> Stopped {
        let ((tell, reached), (resume, told)) = (mpsc::channel(), mpsc::channel());
        self.wanted.lock().unwrap().insert((at, on), (tell, told));
        Stopped { reached, resume }
    }

    fn pass(&self, at: StopPoint, on: Option<u16>) {
        let wanted = self.wanted.lock().unwrap().remove(&(at, on));
        if let Some((tell, told)) = wanted {
            tell.send(()).unwrap();
            told.recv().expect("a test that lets the strand go on");
        }
    }

    /// Returns the events of these kinds, in order.
    fn recorded(&self, kinds: &[StopPoint]) -> Vec<StopPoint> {
        let recorded = self.recorded.lock().unwrap();
        let of_these = recorded.iter().filter(|at| kinds.contains(at));
        of_these.copied().collect()
    }
}

impl Trace for &'static Stops {
    type Ring = ();

    fn is_on(&self) -> bool {
        true
    }

    fn time(&self, _: StrandId) -> Option<u64> {
        Some(1)
    }

    fn record<E: TraceEvent>(&self, on: StrandId, _: u64, _: E) {
        let at = StopPoint::Event(E::ID);
        self.pass(at, Some(on.number().into()));
        self.recorded.lock().unwrap().push(at);
    }
}

type System = &'static MachineUnderTest<'static, &'static Stops>;

/// Returns a Batoka with two nodes, and its [`Stops`]. The guests have negotiated version 1.1.
fn system(guests: &[Guest]) -> (System, &'static Stops) {
    let stops = leak(Stops::default());
    let board = leak(Board::new(Machine::Batoka, 2, &[]));
    board.before_cross_calls(|strand| {
        stops.pass(StopPoint::CrossCall(strand.number().into()), None)
    });
    let system = leak(MachineUnderTest::with_trace(board, guests, stops));
    system.all_negotiate(guests);
    (system, stops)
}

/// Gives the guests these grants from strand 9, on a separate thread.
fn reconfigure(system: System, grants: [Grant; 2]) -> JoinHandle<()> {
    thread::spawn(move || system.reconfigure_on(strand(9), &grants).unwrap())
}

/// Strand 9 gives guests their rights. Before it reaches guest 1, strand 10 resets guest 1.
#[test]
fn a_guest_in_reset_gets_no_rights_back_before_they_are_scrubbed() {
    let (system, stops) = system(&[Guest::new([0], NONE), Guest::new([1], GLOBAL)]);
    assert_eq!(system.set(1, 2, 0x21), 0);
    let at_guest_0 = stops.stop(HELD, Some(9));
    let operator = reconfigure(system, [STRAND, GLOBAL]);
    at_guest_0.wait_until_reached();
    system.begin_reset_on(strand(10), 1);
    assert_eq!(system.service().held(guest_id(1)), grant(NONE));
    at_guest_0.resume();
    operator.join().unwrap();
    assert_eq!(stops.recorded(&[HELD]).len(), 1, "guest 0 alone");
    assert_eq!(system.negotiate(1, 1, 1), 0);
    assert_eq!(system.get(1, 2).0, 10);
    system.complete_transfer();
    assert_eq!(stops.recorded(&[HELD]).len(), 2);
    assert_eq!(system.get(1, 2), (0, 0));
}

#[test]
fn a_reset_whose_strand_dies_scrubs_all_the_same() {
    let (system, stops) = system(&[Guest::new([0], Grant::GLOBAL_HTSTRAND)]);
    assert_eq!(system.set(0, 2, 0x21), 0);
    assert_eq!(system.set(0, 0, 0xf), 0);
    system.board().put_pic(0, 77);
    let in_reset = stops.stop(REVOKED, Some(9));
    thread::spawn(move || system.begin_reset_on(strand(9), 0));
    in_reset.kill();
    system.strand_died(10, 9);
    assert!(system.acknowledge(0));
    system.complete_transfer();
    assert_eq!(system.negotiate(0, 1, 1), 0);
    assert_eq!(system.get(0, 2), (0, 0));
    let board = system.board();
    assert_eq!((board.pcrs()[&0], board.pics()[&0]), (0, 0));
}

/// Strand 9 reports that strand 0 has died, but dies itself before it sends strand 0 a cross-call. Then strand 0 comes back.
#[test]
fn a_strand_that_comes_back_gets_its_cross_call_though_the_sender_died() {
    let (system, stops) = system(&[Guest::new([0, 3], GLOBAL), Guest::new([1], NONE)]);
    let about_to_call = stops.stop(StopPoint::CrossCall(0), None);
    thread::spawn(|| system.strand_died(9, 0));
    about_to_call.kill();
    system.strand_died(10, 9);
    assert!(system.acknowledge(0));
    // The next transfer waits for strand 0.
    let access = system.board().stop_at(Cell::Register(2));
    let call = thread::spawn(|| assert_eq!(system.set(0, 2, 0x33), 0));
    access.wait_until_reached();
    assert_eq!(system.reconfigure_on(strand(10), &[NONE, GLOBAL]), Ok(()));
    assert!(system.acknowledge(3));
    assert_eq!(system.awaited(), Some([0].into()));
    assert_eq!(system.get(1, 2).0, 10);
    access.resume();
    call.join().unwrap();
    system.complete_transfer();
    assert_eq!(system.get(1, 2), (0, 0));
}

/// Strand 9 revokes guest 0's `global`, and dies before it sends a cross-call.
#[test]
fn awaited_strands_get_their_cross_calls_though_the_sender_died() {
    let (system, stops) = system(&[Guest::new([0, 64], GLOBAL), Guest::new([1], NONE)]);
    assert_eq!(system.set(0, 2, 0x21), 0);
    let about_to_call = stops.stop(StopPoint::CrossCall(0), None);
    reconfigure(system, [NONE, GLOBAL]);
    about_to_call.kill();
    assert!(system.board().cross_calls().is_empty() && system.awaited().is_some());
    system.strand_died(10, 9);
    assert!(system.acknowledge(0) && system.acknowledge(64));
    system.complete_transfer();
    assert_eq!(system.get(1, 2), (0, 0));
}

/// The strands acknowledge before the operator's strand has recorded that the transfer waits for them.
#[test]
fn the_end_of_a_transfer_is_recorded_last() {
    let (system, stops) = system(&[Guest::new([0], GLOBAL), Guest::new([1], NONE)]);
    let pending = stops.stop(CHANGE_PENDING, Some(9));
    let operator = reconfigure(system, [NONE, GLOBAL]);
    pending.wait_until_reached();
    system.complete_transfer();
    pending.resume();
    operator.join().unwrap();
    let of_transfer = [CHANGE_PENDING, CHANGE_COMPLETE];
    assert_eq!(stops.recorded(&of_transfer), of_transfer);
}

const ROUNDS: usize = 20_000;

/// At every moment, at least one of strands 0 and 255 has yet to acknowledge.
#[test]
fn a_change_that_is_pending_all_the_time_is_seen_to_be() {
    let board = Board::new(Machine::Batoka, 4, &[]);
    let guests = [Guest::new([0], STRAND), Guest::new([255], STRAND)];
    let machine = MachineUnderTest::new(&board, &guests).with_operator(9);
    let service = machine.service();
    let to = |grants: [Grant; 2]| machine.reconfigure(&grants).unwrap();
    to([NONE, STRAND]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) && service.pending().is_some() {
                hint::spin_loop();
            }
            assert!(done.load(Ordering::SeqCst), "nothing was pending");
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
