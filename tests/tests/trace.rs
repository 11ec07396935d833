//! Tests the events that the service records. Recording must not change the result of a call.

use std::sync::atomic::{AtomicU64, Ordering};

use guest_abi::{Clock, Hub, Registers};
use hv_core::sync::steps;
use hv_core::trace::{
    Clock27, Clock64, GuestReset, HypervisorEvent, Mode, Reader, Ring, RingItem, SetVersion,
    Trace as _, Tracer,
};
use hv_core::{Caller, Context as _, Frame, Negotiated, NegotiatedVersion, Service as _};
use perfctr_service::Unit;
use perfctr_service::trace::{
    ChangeComplete, ChangePending, Get, GetRefused, Granted, Held, HubConflict, Revoked,
    ServiceEvent, Set, SetRefused, UnitOut, UnitReturned,
};
use tests::board::Board;
use tests::leak;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{Cell, Fault, Grant, Guest, HubCondition, Machine, Trap};
use tests::random::Random;

/// A clock that advances by `step` at each read.
#[derive(Debug, Default)]
struct StepClock {
    now: AtomicU64,
    step: AtomicU64,
}

impl Clock for StepClock {
    fn ticks(&self) -> u64 {
        let step = self.step.load(Ordering::Relaxed);
        self.now.fetch_add(step, Ordering::Relaxed)
    }
}

const PACKETS: usize = 2;
const WORDS: usize = 2039;

type Trace = &'static Tracer<'static, StepClock, Clock27, PACKETS, WORDS>;

/// A one-node T5440. Guest 0 has strands 0 and 1, and every right. Guest 1 has strand 2 and the right `strand`. The operator has strand 4.
struct Traced {
    machine: MachineUnderTest<'static, Trace>,
    tracer: Trace,
    rings: &'static [Ring<Clock27, PACKETS, WORDS>],
}

const OPERATOR: usize = 4;

impl Traced {
    fn new(on: bool) -> Self {
        let rings = leak(Vec::from_iter((0..5).map(|_| Ring::new(Mode::Discard))));
        let tracer: Trace =
            leak(Tracer::new(StepClock { step: 5.into(), ..StepClock::default() }, rings));
        tracer.set_on(on);
        let board = leak(Board::new(Machine::Batoka, 1, &[]));
        let guests = [Guest::new([0, 1], Grant::GLOBAL_HTSTRAND), Guest::new([2], Grant::STRAND)];
        let machine = MachineUnderTest::with_trace(board, &guests, tracer).with_operator(4);
        Self { machine, tracer, rings }
    }

    fn set_on(&self, on: bool) {
        self.tracer.set_on(on);
        self.machine.service().tracer_switched();
    }

    fn log(&self, strand: usize) -> Log {
        Log(Reader::new(&self.rings[strand]))
    }
}

#[derive(Debug, PartialEq)]
enum Seen {
    Hypervisor(HypervisorEvent),
    Service(ServiceEvent),
}

/// A reader of one strand's events.
struct Log(Reader<'static, Clock27, PACKETS, WORDS>);

impl Log {
    /// Returns the events recorded since this function was last called.
    fn events(&mut self) -> Vec<Seen> {
        let words = |id| HypervisorEvent::words(id).or_else(|| ServiceEvent::words(id));
        let mut events = Vec::new();
        while let Some(next) = self.0.next(words) {
            let RingItem::Event(event) = next else { panic!("{next:?}") };
            let hypervisor = HypervisorEvent::decode(event.id, event.payload).map(Seen::Hypervisor);
            let service = ServiceEvent::decode(event.id, event.payload).map(Seen::Service);
            events.push(hypervisor.or(service).expect("a known event"));
        }
        events
    }
}

fn seen<const N: usize>(events: [ServiceEvent; N]) -> Vec<Seen> {
    events.map(Seen::Service).into()
}

#[rustfmt::skip]
fn got(strand: u8, perfreg: u8, value: u64) -> ServiceEvent {
    let (status, guest, duration) = (0, strand / 2, 5);
    ServiceEvent::Get(Get { perfreg, status, guest, strand, duration, value })
}

#[rustfmt::skip]
fn get_refused(strand: u8, perfreg: u64, status: u16, duration: u32) -> ServiceEvent {
    let guest = strand / 2;
    ServiceEvent::GetRefused(GetRefused { status, guest, strand, duration, perfreg })
}

#[rustfmt::skip]
fn revoked(guest: u8, left: u8, strand: u16) -> ServiceEvent {
    ServiceEvent::Revoked(Revoked { guest, left, strand })
}

#[rustfmt::skip]
fn held(guest: u8, held: u8, strand: u16) -> ServiceEvent {
    ServiceEvent::Held(Held { guest, held, strand })
}

fn pending(awaited: u16, strand: u16) -> ServiceEvent {
    ServiceEvent::ChangePending(ChangePending { awaited, strand })
}

fn complete(strand: u32) -> ServiceEvent {
    ServiceEvent::ChangeComplete(ChangeComplete { strand })
}

#[test]
fn calls() {
    let traced = Traced::new(false);
    let machine = &traced.machine;
    let mut logs = [0, 1, 2].map(|strand| traced.log(strand));
    machine.negotiate(0, 1, 1);
    machine.get(0, 2);
    assert_eq!(logs[0].events(), []);

    traced.set_on(true);
    machine.negotiate(2, 1, 1);
    let set_version = SetVersion {
        status: 0,
        guest: 1,
        strand: 2,
        duration: 5,
        group: 0x205,
        major: 1,
        minor: 1,
        granted: 1,
    };
    let set_version = Seen::Hypervisor(HypervisorEvent::SetVersion(set_version));
    assert_eq!(logs[2].events(), [set_version]);

    // An event holds the guest's whole value, not only the bits that the register stores.
    assert_eq!(machine.set(0, 2, 0x1_0055), 0);
    assert_eq!(machine.get(1, 2), (0, 0x55));
    let set = Set { perfreg: 2, status: 0, guest: 0, strand: 0, duration: 5, value: 0x1_0055 };
    assert_eq!(logs[0].events(), seen([ServiceEvent::Set(set)]));
    assert_eq!(logs[1].events(), seen([got(1, 2, 0x55)]));

    for (id, status) in [(90, 6), (u64::MAX, 6), (4 + 256, 6), (4, 0), (6, 13)] {
        assert_eq!(machine.get(0, id).0, status);
    }
    let expected = [
        get_refused(0, 90, 6, 5),
        get_refused(0, u64::MAX, 6, 5),
        get_refused(0, 260, 6, 5),
        got(0, 4, 0),
        get_refused(0, 6, 13, 5),
    ];
    assert_eq!(logs[0].events(), seen(expected));
    assert_eq!(machine.set(2, 0, 8), 10);
    let refused = SetRefused { status: 10, guest: 1, strand: 2, duration: 5, perfreg: 0, value: 8 };
    assert_eq!(logs[2].events(), seen([ServiceEvent::SetRefused(refused)]));

    traced.set_on(false);
    machine.get(0, 2);
    machine.get(0, 90);
    machine.negotiate(0, 1, 1);
    assert_eq!(logs[0].events(), []);
}

/// If the duration of a call does not fit in 32 bits of ticks, the maximum is recorded.
#[test]
fn calls_of_any_duration() {
    let clock: &StepClock = leak(StepClock::default());
    let rings: &[Ring<Clock64, PACKETS, WORDS>] = leak([Ring::new(Mode::Discard)]);
    let tracer: &Tracer<'_, _, _, PACKETS, WORDS> = leak(Tracer::new(clock, rings));
    tracer.set_on(true);
    let board = leak(Board::new(Machine::Batoka, 1, &[]));
    let guests = [Guest::new([0], Grant::GLOBAL_HTSTRAND)];
    let machine = MachineUnderTest::with_trace(board, &guests, tracer);
    machine.negotiate(0, 1, 1);
    let mut reader = Reader::new(&rings[0]);
    let words = |id| HypervisorEvent::words(id).or_else(|| ServiceEvent::words(id));
    while reader.next(words).is_some() {}

    for (ticks, duration) in [
        (0, 0),
        (0x7fff_ffff, 0x7fff_ffff),
        (0x8000_0000, 0x8000_0000),
        (0xffff_ffff, 0xffff_ffff),
        (0x1_0000_0000, 0xffff_ffff),
        (0x1_0000_0001, 0xffff_ffff),
    ] {
        clock.step.store(ticks, Ordering::Relaxed);
        let ended = clock.now.load(Ordering::Relaxed) + ticks;
        assert_eq!(machine.get(0, 2), (0, 0));
        let Some(RingItem::Event(event)) = reader.next(words) else {
            panic!("a call of {ticks} ticks is not recorded")
        };
        let get = Get { perfreg: 2, duration, ..Get::default() };
        let expected = (ended, Some(ServiceEvent::Get(get)));
        let decoded = ServiceEvent::decode(event.id, event.payload);
        assert_eq!((event.time, decoded), expected);
    }
}

#[test]
fn hubs_that_are_taken() {
    let traced = Traced::new(true);
    let machine = &traced.machine;
    let mut logs = [0, 1].map(|strand| traced.log(strand));
    machine.negotiate(0, 1, 1);
    logs[0].events();
    assert_eq!(machine.get(0, 37).0, 0);
    machine.board().set_hub(1, HubCondition::Busy);
    assert_eq!([0, 1].map(|strand| machine.get(strand, 37).0), [9, 9]);
    #[rustfmt::skip]
    let conflict = |strand, why| ServiceEvent::HubConflict(HubConflict { hub: 1, why, guest: 0, strand });
    // Recording a conflict also reads the clock. A conflict's `why` is 2 if the chip is busy, and 1 if another strand (here, strand 0) has
    // the turn.
    let of_0 = [got(0, 37, 0), conflict(0, 2), get_refused(0, 37, 9, 10)];
    let of_1 = [conflict(1, 1), get_refused(1, 37, 9, 10)];
    assert_eq!(logs[0].events(), seen(of_0));
    assert_eq!(logs[1].events(), seen(of_1));
}

#[test]
fn units_that_fail() {
    let traced = Traced::new(true);
    let machine = &traced.machine;
    let mut log = traced.log(1);
    machine.negotiate(1, 1, 1);
    log.events();
    for (cell, id, unit) in [
        (Cell::Register(5), 5, 1),
        (Cell::Register(89), 89, 11),
        (Cell::L2 { node: 0, bank: 0 }, 1, 12),
    ] {
        machine.board().break_cell(cell, Fault::Always);
        assert_eq!(machine.get(1, id).0, 10);
        assert_eq!(machine.get(1, id).0, 10);
        let (why, strand) = (0, 1);
        let expected = [
            ServiceEvent::UnitOut(UnitOut { unit, why, strand }),
            get_refused(1, id, 10, 10),
            get_refused(1, id, 10, 5),
        ];
        assert_eq!(log.events(), seen(expected));
    }
    machine.board().repair();
    assert_eq!(machine.return_to_service(4, Unit::Hub(Hub::Zam3)), Ok(()));
    let (unit, strand) = (11, 4);
    let returned = ServiceEvent::UnitReturned(UnitReturned { unit, strand });
    assert_eq!(traced.log(OPERATOR).events(), seen([returned]));
}

#[test]
fn transfers_of_rights() {
    let traced = Traced::new(true);
    let machine = &traced.machine;
    let mut logs = [0, 1, 2, 3, OPERATOR].map(|strand| traced.log(strand));
    #[rustfmt::skip]
    let granted = |guest, grant| ServiceEvent::Granted(Granted { guest, grant, strand: 4 });
    // `global` passes from guest 0 to guest 1.
    assert_eq!(machine.reconfigure(&[Grant::HTSTRAND, Grant::GLOBAL_STRAND]), Ok(()));
    assert_eq!(machine.awaited(), Some([0, 1].into()));
    let expected = [granted(0, 0b110), granted(1, 0b011), revoked(0, 0b110, 4), pending(2, 4)];
    assert_eq!(logs[4].events(), seen(expected));
    machine.complete_transfer();
    // When the last strand acknowledges, the transfer is complete.
    assert_eq!(logs[0].events(), []);
    assert_eq!(logs[1].events(), seen([held(1, 0b011, 1), complete(1)]));

    // No guest loses a right, so the transfer waits for no strand.
    assert_eq!(machine.reconfigure(&[Grant::HTSTRAND, Grant::GLOBAL_HTSTRAND]), Ok(()));
    assert_eq!(machine.awaited(), None);
    let expected = [granted(1, 0b111), held(1, 0b111, 4), complete(4)];
    assert_eq!(logs[4].events(), seen(expected));

    // A reset revokes all of a guest's rights and then gives them back.
    machine.begin_reset_on(strand(3), 1);
    let (guest, strand) = (1, 3);
    let reset = HypervisorEvent::GuestReset(GuestReset { guest, strand });
    let mut expected = vec![Seen::Hypervisor(reset)];
    expected.extend(seen([revoked(1, 0, 3), pending(1, 3)]));
    assert_eq!(logs[3].events(), expected);
    machine.complete_transfer();
    assert_eq!(logs[2].events(), seen([held(1, 0b111, 2), complete(2)]));
}

/// Makes the same calls with a tracer that is sometimes on and with one that is off. Results, statistics and devices must be the same, and
/// every call made while the tracer is on must have an event.
#[test]
fn recording_changes_nothing() {
    let [traced, off] = [(); 2].map(|()| Traced::new(false));
    let machines = [&traced.machine, &off.machine];
    let mut logs = [0, 1, 2].map(|strand| traced.log(strand));
    let mut random = Random(12);
    let (mut expected, mut recorded) = (0, 0);
    for step in 0..20_000 {
        match step % 1000 {
            500 => traced.set_on(true),
            0 => traced.set_on(false),
            _ => {}
        }
        let strand = random.one_of(&[0, 1, 2]);
        let any = random.next_u64();
        let id = random.one_of(&[any, any % 20, any % 95]);
        let value = random.next_u64() >> random.below(64);
        let function = 0x106 + random.below(2) as u64;
        if random.below(50) == 0 {
            assert_eq!(machines.map(|machine| machine.negotiate(strand, 1, 1)), [0, 0]);
            expected += u64::from(traced.tracer.is_on());
        }
        if random.below(50) == 0 {
            let hub = random.below(4);
            let condition = random.one_of(&[HubCondition::Busy, HubCondition::Free]);
            for machine in machines {
                machine.board().set_hub(hub, condition);
            }
        }
        let call = [id, value, 12, 13, 14, function];
        let results = machines.map(|machine| machine.trap(strand, Trap::Fast, call));
        assert_eq!(results[0], results[1], "step {step}");
        expected += u64::from(traced.tracer.is_on());
        let events = logs.iter_mut().flat_map(Log::events);
        let is_call = |seen: &Seen| !matches!(seen, Seen::Service(ServiceEvent::HubConflict(_)));
        recorded += events.filter(is_call).count() as u64;
    }
    assert_eq!(recorded, expected);
    assert!(recorded > 9000);
    for guest in [0, 1].map(guest_id) {
        let [with, without] = machines.map(|machine| machine.service().statistics(guest));
        assert_eq!(with, without);
    }
    let [with, without] = machines.map(|machine| (machine.board().cells(), machine.board().pcrs()));
    assert_eq!(with, without);
}

/// At each step of a strand that turns the tracer on or off, another strand does the opposite. The second strand's setting remains in
/// force.
#[test]
fn two_strands_turn_the_tracer() {
    for on in [true, false] {
        for step in 0.. {
            let traced = leak(Traced::new(!on));
            assert_eq!(traced.machine.negotiate(0, 1, 1), 0);
            let (_, within) =
                steps::interleave_at(step, move || traced.set_on(!on), || traced.set_on(on));
            if !within {
                assert!(step > 10, "{step} steps");
                break;
            }
            let mut log = traced.log(0);
            log.events();
            assert_eq!(traced.machine.get(0, 2), (0, 0));
            assert_eq!(log.events().is_empty(), on, "step {step}, turned {on}");
            // The fast path serves the call whether the tracer is on or off.
            let version = Negotiated::new(NegotiatedVersion::new(2));
            let caller = Caller { guest: guest_id(0), strand: strand(0) };
            let context = traced.machine.service().context(caller, &version);
            let mut registers = Registers::call(0x106, [2, 0xbad, 0, 0, 0]);
            let served = context.fast_path(0x106, &mut Frame::new(&mut registers));
            assert!(served, "step {step}, turned {on}");
            assert_eq!((registers.o0, registers.o1), (0, 0));
            assert_eq!(log.events().is_empty(), on, "step {step}, turned {on}");
        }
    }
}
