//! Tests that the hypervisor records resets, negotiations, and calls that no service claims.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use guest_abi::{HvError, Registers, StrandId};
use hv_core::trace::{
    Clock27, FastCall, GuestReset, Heartbeat, HypervisorEvent, Mode, NoTrace, Reader, Ring,
    RingItem, SetVersion, Trace, TraceEvent, Tracer,
};
use hv_core::{
    CallError, Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, Reply, TrapOutcome,
};

use crate::threads::CountedReads;

const RESET: GuestReset = GuestReset { guest: 5, strand: 1 };

/// An image with FAST functions 0x400 and 0x401. Function 0x401 fails with EINVAL and a value.
struct Image;

impl Embedder for Image {
    const FAST_FUNCTIONS: Option<&'static [u64]> = Some(&[0x400, 0x401]);

    fn console(&self, _: Caller, _: ConsoleOutput) -> Result<(), HvError> {
        Ok(())
    }

    fn fast(&self, _: Caller, function: u64, _: &Registers) -> Result<Reply, CallError> {
        match function {
            0x400 => Ok(Reply::Done),
            _ => Err(CallError { status: HvError::Invalid, value: Some(64) }),
        }
    }
}

fn events(ring: &Ring<Clock27, 2, 500>) -> Vec<(u64, HypervisorEvent)> {
    let mut reader = Reader::new(ring);
    let next = || match reader.next(HypervisorEvent::words)? {
        RingItem::Event(event) => {
            let decoded = HypervisorEvent::decode(event.id, event.payload);
            Some((event.time, decoded.expect("a hypervisor event")))
        }
        lost => panic!("{lost:?}"),
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn events_are_recorded_while_tracing_is_on() {
    let strands = [const { Ring::new(Mode::Discard) }; 4];
    // The clock advances by 1 at each read.
    let tracer = Tracer::new(CountedReads::default(), &strands);
    let hypervisor = Hypervisor::with_trace((), Image, &tracer);
    let caller = Caller { guest: GuestId::new(5).unwrap(), strand: StrandId::new(3).unwrap() };
    let strand = hypervisor.strand(caller).unwrap();
    let operator = StrandId::new(1).unwrap();
    let negotiate = |group, major, minor| {
        let mut registers = Registers::call(0, [group, major, minor, 0, 0]);
        assert_eq!(strand.core_trap(&mut registers), TrapOutcome::Resume);
    };
    let fast = |function| strand.fast_trap(&mut Registers::call(function, [0; 5]));

    negotiate(1, 1, 0);
    fast(0x400);
    hypervisor.reset_guest(caller.guest, operator);
    let traced = strand.served().traced;
    assert!(!traced.load(Relaxed));
    tracer.set_on(true);
    assert!(traced.load(Relaxed), "trap entries pass on every call");
    negotiate(1, 1, 7);
    negotiate(1, 2, 3);
    negotiate(0x205, 1, u64::MAX);
    [0x400, 1 << 40, 0x401].into_iter().for_each(fast);
    hypervisor.reset_guest(caller.guest, operator);
    hypervisor.heartbeat(operator);
    tracer.set_on(false);
    hypervisor.heartbeat(operator);
    negotiate(1, 0, 0);
    fast(0x400);
    hypervisor.reset_guest(caller.guest, operator);

    let (guest, strand, duration, granted) = (5, 3, 1, 0);
    let set_version = |status, group, major, minor| {
        let event = SetVersion { status, guest, strand, duration, group, major, minor, granted };
        HypervisorEvent::SetVersion(event)
    };
    let fast_call = |status, function| {
        HypervisorEvent::FastCall(FastCall { status, guest, strand, duration, function })
    };
    assert_eq!(
        events(tracer.ring(caller.strand).unwrap()),
        [
            (1, set_version(0, 1, 1, 7)),
            (3, set_version(13, 1, 2, 3)),
            (5, set_version(6, 0x205, 1, u64::MAX)),
            (7, fast_call(0, 0x400)),
            (9, fast_call(7, 1 << 40)),
            (11, fast_call(6, 0x401)),
        ]
    );
    let of_operator = events(tracer.ring(operator).unwrap());
    let heartbeat = HypervisorEvent::Heartbeat(Heartbeat { strand: 1 });
    assert_eq!(of_operator, [(12, HypervisorEvent::GuestReset(RESET)), (13, heartbeat)]);
    for other in [0, 2] {
        assert_eq!(events(tracer.ring(StrandId::new(other).unwrap()).unwrap()), []);
    }
}

/// A tracer that implements none of the optional functions. Its times are 1,000, 1,001 and so on.
#[derive(Default)]
struct Switched {
    on: Cell<bool>,
    looks: Cell<u64>,
}

impl Trace for Switched {
    type Ring = ();

    fn is_on(&self) -> bool {
        self.on.get()
    }

    fn time(&self, _: StrandId) -> Option<u64> {
        self.looks.set(self.looks.get() + 1);
        self.on.get().then(|| 999 + self.looks.get())
    }

    fn record<E: TraceEvent>(&self, _: StrandId, _: u64, _: E) {}
}

/// A tracer has no rings unless it implements `ring`. `try_record` records an event only if that takes few instructions.
#[test]
fn what_takes_few_instructions_is_recorded_at_once() {
    let strand = StrandId::new(3).unwrap();
    let reset = || RESET;
    let bare = Switched::default();
    assert_eq!((bare.ring(strand), NoTrace.ring(strand)), (None, None));
    assert_eq!(NoTrace.time(strand), None);
    assert!(!Switched::try_record(&(), 1000, reset));

    type Rings<'a> = Tracer<'a, CountedReads, Clock27, 2, 500>;
    let strands = [const { Ring::new(Mode::Discard) }; 4];
    let tracer: Rings = Tracer::new(CountedReads::default(), &strands);
    let ring = Trace::ring(&tracer, strand).unwrap();
    let recorded = Rings::try_record(ring, 7, reset);
    assert!(!recorded, "the first event has a full header");
    tracer.record(strand, 7, reset());
    assert!(Rings::try_record(ring, 8, reset));
    let shared = &tracer;
    let ring = Trace::ring(&shared, strand).unwrap();
    assert!(<&Rings>::try_record(ring, 9, reset));
    let event = HypervisorEvent::GuestReset(reset());
    assert_eq!(events(ring), [(7, event), (8, event), (9, event)]);
}

/// If the tracer is switched on or off during a call, the call's recorded duration is 0.
#[test]
fn the_times_of_a_call_in_which_the_tracer_is_switched() {
    let strand = StrandId::new(3).unwrap();
    for (before, behind, expected) in [
        (true, true, (1000, "made", 1001)),
        (true, false, (1000, "made", 1000)),
        (false, true, (1001, "made", 1001)),
        (false, false, (0, "made", 0)),
    ] {
        let trace = Switched { on: before.into(), ..Switched::default() };
        let seen = trace.timed(strand, || {
            trace.on.set(behind);
            "made"
        });
        assert_eq!(seen, expected, "{before}, {behind}");
    }
}
