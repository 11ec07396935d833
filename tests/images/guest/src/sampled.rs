//! Takes samples with `guest-abi` in the overflow trap handler.
//!
//! The hypervisor has a model of the counters, and the guest tells it which events happen: see [`traps`](crate::traps). Plain division
//! gives the expected counts and samples: of `n` events with period `p`, `n / p` are sampled.

use core::cell::UnsafeCell;
use core::hint::black_box;

use conform::control::Control;
use conform::counters::Counters;
use guest_abi::clock::Clock;
use guest_abi::event::SparcEvent;
use guest_abi::guest::{PerfCounters, StrandCounters, Sun4v};
use guest_abi::layout::{SparcPcr, SparcPic, SparcSelect};
use guest_abi::sampling::{
    EventReport, InterruptPoint, ModeSet, OwnCounters, Pace, Period, Profiler, Request, Sample,
    SparcMode,
};
use guest_abi::{HvError, StrandId};

use crate::probes::{self, Around};
use crate::report::{Check, Report};
use crate::sun4v;
use crate::swept::control;
use crate::traps::{self, Frame, TSTATE_PRIV};

type Unit = OwnCounters<Sun4v, Sun4v>;
type Taken = Sample<SparcSelect, SparcMode>;

/// The unit and the profiler, both of which the overflow trap handler uses.
struct Session {
    unit: Unit,
    profiler: Profiler<Unit, 1, 8>,
    /// Whether the unit refused to continue after an overflow.
    refused: bool,
}

struct Shared(UnsafeCell<Option<Session>>);

// SAFETY: there is one strand. Its interrupts are blocked while it uses the content: see `with`.
unsafe impl Sync for Shared {}

static SESSION: Shared = Shared(UnsafeCell::new(None));

/// The numbers of two strands, the first with all rights and the second with none.
const STRAND: usize = 37;
const WITHOUT_RIGHTS: usize = 38;

/// Blocks the overflow trap, and calls `work` with the session.
fn with<T>(work: impl FnOnce(&mut Option<Session>) -> T) -> T {
    traps::hold(true);
    // SAFETY: no other code runs, and `work` does not call this function.
    let result = work(unsafe { &mut *SESSION.0.get() });
    traps::hold(false);
    result
}

pub fn overflowed(frame: &Frame) {
    // SAFETY: the handler runs only while no other code uses the session.
    if let Some(session) = unsafe { &mut *SESSION.0.get() } {
        let at = InterruptPoint {
            address: frame.tpc,
            mode: if frame.tstate & TSTATE_PRIV == 0 {
                SparcMode::User
            } else {
                SparcMode::Privileged
            },
            ..now()
        };
        let handled = session.profiler.handle(&mut session.unit, &at);
        session.refused |= handled.is_err();
    }
}

/// Returns the address and mode that an interrupt at this point would report.
fn now() -> InterruptPoint<SparcMode> {
    InterruptPoint {
        address: 0,
        strand: strand(STRAND),
        time: sun4v().ticks(),
        mode: SparcMode::Privileged,
    }
}

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap_or_else(|| panic!("no strand {number}"))
}

fn set_caller(number: usize) {
    control(Control::Caller(strand(number)));
}

fn counters(counters: Counters) {
    control(Control::Counters(counters));
}

/// An instruction at which the test makes events happen.
#[derive(Clone, Copy)]
enum EventSite {
    Here,
    There,
}

impl EventSite {
    /// Returns the address of the next instruction.
    fn next(self) -> u64 {
        let next = match self {
            Self::Here => &raw const traps::here_next,
            Self::There => &raw const traps::there_next,
        };
        next as u64
    }
}

fn happens_at(place: EventSite, mode: SparcMode, event: SparcEvent, times: u32) {
    let happens = Control::Counters(Counters::Happens(mode, event, times));
    let [o0, o1, o2, o3, o4, o5] = happens.registers().to_array();
    // SAFETY: calls the hypervisor. The hypervisor changes only registers that the ABI lets it change.
    unsafe {
        match place {
            EventSite::Here => traps::here(o0, o1, o2, o3, o4, o5),
            EventSite::There => traps::there(o0, o1, o2, o3, o4, o5),
        };
    }
}

fn happens(event: SparcEvent, times: u32) {
    happens_at(EventSite::Here, SparcMode::Privileged, event, times);
}

/// Starts sampling these events, each given with its period.
fn start(mode: SparcMode, sampled: &[(SparcEvent, u32)]) -> Result<(), HvError> {
    let service = PerfCounters::negotiate_best(sun4v()).ok();
    let mut requests = [Request { event: SparcEvent::Loads.into(), pace: None }; 2];
    let requests = &mut requests[..sampled.len()];
    for (request, (event, period)) in requests.iter_mut().zip(sampled) {
        *request = Request { event: (*event).into(), pace: Period::new(*period).map(Pace::every) };
    }
    let profiler = Profiler::new(ModeSet::from(mode), requests);
    with(|shared| {
        let session = shared.insert(Session {
            unit: OwnCounters::with_service(sun4v(), service),
            profiler: profiler.unwrap_or_else(|error| panic!("{error:?}")),
            refused: false,
        });
        session.profiler.start(&mut session.unit, sun4v().ticks())
    })
}

/// A session's interrupts, losses and refusals.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    interrupts: u64,
    spurious: u64,
    lost: u64,
    refused: bool,
}

impl Outcome {
    /// Returns the outcome of a session that had no errors and this number of interrupts.
    const fn undisturbed(interrupts: u64) -> Self {
        Self { interrupts, spurious: 0, lost: 0, refused: false }
    }
}

/// Ends the session. Returns its outcome and the report of each event.
fn stop() -> (Outcome, [Option<EventReport<SparcSelect>>; 2]) {
    with(|shared| {
        let Some(mut session) = shared.take() else {
            panic!("nothing is sampled");
        };
        session.profiler.stop(&mut session.unit, &now());
        let outcome = Outcome {
            interrupts: session.profiler.interrupts(),
            spurious: session.profiler.spurious(),
            lost: session.profiler.lost(),
            refused: session.refused,
        };
        let mut events = session.profiler.events();
        (outcome, [events.next(), events.next()])
    })
}

fn pop() -> Option<Taken> {
    with(|shared| shared.as_mut()?.profiler.pop())
}

/// Returns a counter's numbers of events, samples and missed samples.
fn counted(report: Option<EventReport<SparcSelect>>) -> Option<[u64; 3]> {
    let report = report?;
    let estimate = report.estimate?;
    // The events were counted without a pause, so the estimate is exact.
    (estimate.error == Some(0)).then_some([estimate.events, report.samples, report.missed])
}

/// Ends the session. Checks its outcome and the counts of its first event.
fn ended(check: &mut Check<'_>, expected: Outcome, counts: Option<[u64; 3]>) {
    let (outcome, [report, _]) = stop();
    check.same("outcome", outcome, expected);
    check.same("counts", counted(report), counts);
}

pub fn run(report: &mut Report) {
    let Some(configuration) = Counters::configuration() else {
        panic!("no machine");
    };
    control(Control::PowerOn(configuration));
    set_caller(STRAND);
    traps::install();
    registers(&mut report.check("%pcr and %pic by rd and wr, which trap"));
    two_counters(
        &mut report.check("samples in the overflow handler have address, time, event and period"),
    );
    simultaneous_overflow(
        &mut report.check("two counters that overflow at once take one trap and two samples"),
    );
    interrupted_code_is_preserved(
        &mut report.check("what an overflow trap interrupts goes on as it was"),
    );
    early(&mut report.check("overflow traps that come 15 events early"));
    beyond(&mut report.check("counts of more than 32 bits, over overflows"));
    held_back(&mut report.check("an overflow trap that is held back is late, not lost"));
    spurious(&mut report.check("an overflow trap for nothing is spurious"));
    full(&mut report.check("samples without room are counted"));
    hyperprivileged(&mut report.check("hyperprivileged events are sampled, by the service"));
    no_right(&mut report.check("hyperprivileged events without the right"));
}

fn registers(check: &mut Check<'_>) {
    for value in [0, 0x1234_5678_9abc_def0, u64::MAX, 1 << 63] {
        // SAFETY: the probe preserves what the ABI requires.
        let changed = unsafe { traps::by_every_kind(value) };
        check.same(value, changed, 0);
        sun4v().set_pic(SparcPic::from(value));
        check.same("pic", u64::from(sun4v().pic()), value);
    }
    // Sets all bits except the reserved bits and HT, which privileged code cannot write.
    sun4v().set_pcr(SparcPcr::from(0x3fff_ffff_ffff_ffff));
    check.same("pcr", sun4v().pcr().into(), 0xffff_fff7_u64);
    // HOLDOV0 and HOLDOV1 preserve OV0 and OV1, and themselves read as 0.
    sun4v().set_pcr(SparcPcr::from(1 << 62));
    check.same("pcr", sun4v().pcr().into(), 1_u64 << 18);
    sun4v().set_pcr(SparcPcr::from(1 << 63 | 1 << 31 | 1 << 18));
    check.same("pcr", sun4v().pcr().into(), 1_u64 << 18);
    sun4v().set_pcr(SparcPcr::new());
    check.same("pcr", sun4v().pcr().into(), 0_u64);
}

/// Makes two events happen at two instructions, a few at a time, and checks each sample.
fn two_counters(check: &mut Check<'_>) {
    const EVENTS: [(SparcEvent, u64); 2] = [(SparcEvent::Loads, 1000), (SparcEvent::Stores, 700)];
    let started =
        start(SparcMode::Privileged, &EVENTS.map(|(event, period)| (event, period as u32)));
    check.same("start", started, Ok(()));
    let mut totals = [0; 2];
    let mut time = 0;
    for round in 0_u32..400 {
        let place = if round % 3 == 0 { EventSite::There } else { EventSite::Here };
        // Events in other modes are not counted.
        happens_at(place, SparcMode::User, SparcEvent::Loads, 5000);
        happens_at(place, SparcMode::Hyperprivileged, SparcEvent::Stores, 5000);
        for (number, (event, period)) in EVENTS.into_iter().enumerate() {
            let times = [5 + round * 37 % 90, 1 + round * 53 % 60][number];
            let before = totals[number] / period;
            totals[number] += u64::from(times);
            happens_at(place, SparcMode::Privileged, event, times);
            let due = (totals[number] / period > before).then_some((
                place.next(),
                STRAND,
                SparcMode::Privileged,
                event.into(),
                period,
            ));
            let sample = pop();
            let found = sample.map(|sample| {
                let InterruptPoint { address, strand, mode, .. } = sample.at;
                (address, strand.index(), mode, sample.event, sample.period)
            });
            check.same((round, event), found, due);
            if let Some(sample) = sample {
                check.same("time", sample.at.time > time && sample.at.time < sun4v().ticks(), true);
                time = sample.at.time;
            }
        }
    }
    let [loads, stores] = totals;
    let (outcome, [first, second]) = stop();
    check.same("outcome", outcome, Outcome::undisturbed(loads / 1000 + stores / 700));
    check.same("loads", counted(first), Some([loads, loads / 1000, 0]));
    check.same("stores", counted(second), Some([stores, stores / 700, 0]));
    check.same("enough", loads > 19_000 && stores > 11_000, true);
}

fn simultaneous_overflow(check: &mut Check<'_>) {
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Loads, 100), (SparcEvent::Loads, 100)]);
    for _ in 0..100 {
        happens(SparcEvent::Loads, 10);
        let samples = [pop(), pop(), pop()].map(|sample| sample.is_some());
        check.same("a pair or nothing", samples[0] == samples[1] && !samples[2], true);
    }
    let (outcome, reports) = stop();
    check.same("outcome", outcome, Outcome::undisturbed(10));
    check.same("both", reports.map(counted), [Some([1000, 10, 0]); 2]);
}

/// Checks every register around a call that is followed by an overflow trap. Then checks traps in 20 nested calls, with every number of
/// free windows.
fn interrupted_code_is_preserved(check: &mut Check<'_>) {
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Loads, 10)]);
    let ten = Control::Counters(Counters::Happens(SparcMode::Privileged, SparcEvent::Loads, 10));
    let call = ten.registers().to_array();
    let mut found = Around::default();
    // SAFETY: the probe preserves what the ABI requires.
    unsafe { probes::around_0xfe(&call, &mut found) };
    let [_, o1, o2, o3, o4, o5] = call;
    let mut after = found.before;
    // `windows` is the index of CANSAVE, CANRESTORE or CLEANWIN. These three registers may change, because the handler itself needs
    // windows.
    for windows in [1, 2, 4] {
        after[windows] = found.after[windows];
    }
    let expected = Around { after, ..Around::with_outs([0, o1, o2, o3, o4, o5], found.before) };
    check.same("registers", found, expected);
    check.same("sampled", pop().is_some(), true);
    for _ in 0..2 {
        check.same("depth", deep(20), 20 * 21 / 2);
    }
    // The nested calls take 84 samples, but the ring has room for only eight of them.
    ended(check, Outcome { lost: 76, ..Outcome::undisturbed(85) }, Some([850, 85, 0]));
}

/// Returns the sum of the numbers up to `depth`. A trap is taken before and after each nested call.
#[inline(never)]
fn deep(depth: u64) -> u64 {
    happens(SparcEvent::Loads, 10);
    let sum = match black_box(depth) {
        0 => 0,
        depth => depth + black_box(deep(depth - 1)),
    };
    happens(SparcEvent::Loads, 10);
    sum
}

fn early(check: &mut Check<'_>) {
    counters(Counters::Early(15));
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Stores, 100)]);
    for total in 1_u64..=1000 {
        happens(SparcEvent::Stores, 1);
        // A sample is taken after 85, 185, 285, ... events.
        check.same(total, pop().map(|sample| sample.period), (total % 100 == 85).then_some(100));
    }
    ended(check, Outcome::undisturbed(10), Some([1000, 10, 0]));
    counters(Counters::Early(0));
}

fn beyond(check: &mut Check<'_>) {
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Loads, 1 << 30)]);
    let mut sampled = 0;
    for total in (1_u64..=12).map(|calls| calls * 0x7000_0001) {
        happens(SparcEvent::Loads, 0x7000_0001);
        sampled += pop().map_or(0, |sample| sample.period);
        // The sum of the periods includes each period that has ended, with or without a sample.
        check.same(total, sampled, total >> 30 << 30);
    }
    // 0x5_4000_000c events are 21 periods, 12 of which have a sample.
    ended(check, Outcome::undisturbed(12), Some([0x5_4000_000c, 12, 9]));
}

fn held_back(check: &mut Check<'_>) {
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Loads, 1000)]);
    traps::hold(true);
    for _ in 0..3 {
        happens(SparcEvent::Loads, 1100);
    }
    // `pop` looks for samples before it unblocks the trap.
    check.same("held back", pop(), None);
    check.same("let come", pop().map(|sample| sample.period), Some(3000));
    check.same("once", pop(), None);
    // Sampling continues after 4000 events.
    for (times, period) in [(699, None), (1, Some(1000)), (999, None), (1, Some(1000))] {
        happens(SparcEvent::Loads, times);
        check.same(times, pop().map(|sample| sample.period), period);
    }
    ended(check, Outcome::undisturbed(3), Some([5000, 3, 2]));
}

fn spurious(check: &mut Check<'_>) {
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Loads, 1000)]);
    traps::hold(true);
    happens(SparcEvent::Loads, 1200);
    // `rotate` handles the overflow. After `with`, the overflow trap is still taken, and finds nothing to do.
    let rotated = with(|shared| {
        let session = shared.as_mut()?;
        session.profiler.rotate(&mut session.unit, &now()).ok()
    });
    check.same("dealt with", rotated.is_some_and(|cause| !cause.is_spurious()), true);
    check.same("one", [pop().is_some(), pop().is_some()], [true, false]);
    happens(SparcEvent::Loads, 800);
    check.same("goes on", pop().map(|sample| sample.period), Some(1000));
    ended(check, Outcome { spurious: 1, ..Outcome::undisturbed(2) }, Some([2000, 2, 0]));
}

/// Overfills the ring, which holds eight samples.
fn full(check: &mut Check<'_>) {
    let _ = start(SparcMode::Privileged, &[(SparcEvent::Loads, 10)]);
    for _ in 0..20 {
        happens(SparcEvent::Loads, 10);
    }
    let mut kept = 0;
    while pop().is_some() {
        kept += 1;
    }
    check.same("kept", kept, 8);
    ended(check, Outcome { lost: 12, ..Outcome::undisturbed(20) }, Some([200, 20, 0]));
}

fn hyperprivileged(check: &mut Check<'_>) {
    let started = start(SparcMode::Hyperprivileged, &[(SparcEvent::Loads, 50)]);
    check.same("start", started, Ok(()));
    for _ in 0..100 {
        happens_at(EventSite::There, SparcMode::Hyperprivileged, SparcEvent::Loads, 10);
        happens(SparcEvent::Loads, 1000);
        // The address in the sample is the one to which the trap handler can return.
        let place = pop().map(|sample| sample.at.address);
        check.same("address", place.is_none_or(|place| place == EventSite::There.next()), true);
    }
    ended(check, Outcome::undisturbed(20), Some([1000, 20, 0]));
}

fn no_right(check: &mut Check<'_>) {
    set_caller(WITHOUT_RIGHTS);
    let started = start(SparcMode::Hyperprivileged, &[(SparcEvent::Loads, 50)]);
    check.same("start", started, Err(HvError::NoAccess));
    happens_at(EventSite::Here, SparcMode::Hyperprivileged, SparcEvent::Loads, 100);
    check.same("nothing", pop(), None);
    ended(check, Outcome::undisturbed(0), None);
    set_caller(STRAND);
}
