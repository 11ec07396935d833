//! A fake unit. The tests say how many events each counter has counted.

use guest_abi::Counter::{self, Pic0, Pic1};
use guest_abi::sampling::{
    CounterSet, CounterUnit, InterruptPoint, ModeSet, Pace, Period, Profiler, Program, Request,
    Sample, UnitEvent, UnitMode,
};
use guest_abi::{HvError, StrandId};

/// An event code. Both counters can count events 0 to 9; only counter 0 can count events 10 to 19, and only counter 1 can count the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FakeEvent(pub(crate) u8);

impl UnitEvent for FakeEvent {
    fn counters(self) -> CounterSet {
        match self.0 {
            0..10 => CounterSet::BOTH,
            10..20 => CounterSet::only(Pic0),
            _ => CounterSet::only(Pic1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    User,
    Kernel,
}

impl UnitMode for Mode {
    const ALL: &'static [Self] = &[Self::User, Self::Kernel];

    fn index(self) -> usize {
        self as usize
    }
}

/// A unit whose counters overflow at the value `AT`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake<const AT: u32> {
    pub(crate) program: Option<Program<FakeEvent, Mode>>,
    pub(crate) counters: [u32; 2],
    pub(crate) pending: CounterSet,
    pub(crate) timer: bool,
    pub(crate) refuses: bool,
    /// All writes to counters, in order.
    pub(crate) written: Vec<(Counter, u32)>,
}

/// A unit whose counters overflow when they wrap.
pub(crate) type Wrapping = Fake<0>;
/// A unit whose counters overflow when bit 31 becomes 1.
pub(crate) type Topmost = Fake<0x8000_0000>;

impl<const AT: u32> Fake<AT> {
    /// Adds `events` to the counter, if the unit is started. Returns `true` if the counter overflows.
    pub(crate) fn count(&mut self, counter: Counter, events: u32) -> bool {
        if self.program.is_none() {
            return false;
        }
        let before = self.past_overflow(counter);
        self.counters[counter.index()] = self.read(counter).wrapping_add(events);
        let over = before < 0 && self.past_overflow(counter) >= 0;
        if over {
            self.ask(counter);
        }
        over
    }

    pub(crate) fn ask(&mut self, counter: Counter) {
        self.pending = self.pending | counter.into();
    }

    /// Empties the write log, and returns its contents. Each value is relative to the value at which the counter overflows.
    pub(crate) fn take_writes(&mut self) -> Vec<(Counter, i32)> {
        let past = |(counter, value): (Counter, u32)| (counter, value.wrapping_sub(AT) as i32);
        self.written.drain(..).map(past).collect()
    }

    pub(crate) fn event(&self, counter: Counter) -> Option<FakeEvent> {
        self.program?.events.event(counter)
    }
}

impl<const AT: u32> CounterUnit for Fake<AT> {
    type Event = FakeEvent;
    type Mode = Mode;
    type Refusal = HvError;

    const OVERFLOWS_AT: u32 = AT;
    const MAX_EARLY: u32 = 16;

    fn events() -> impl Iterator<Item = FakeEvent> {
        (0..30).map(FakeEvent)
    }

    fn start(&mut self, program: &Program<FakeEvent, Mode>) -> Result<(), HvError> {
        self.program = (!self.refuses).then_some(*program);
        if self.refuses { Err(HvError::NoAccess) } else { Ok(()) }
    }

    fn stop(&mut self) {
        self.program = None;
    }

    fn read(&self, counter: Counter) -> u32 {
        self.counters[counter.index()]
    }

    fn write(&mut self, counter: Counter, value: u32) {
        assert!(self.program.is_none(), "written while it counts");
        self.counters[counter.index()] = value;
        self.written.push((counter, value));
    }

    fn overflowed(&self) -> CounterSet {
        self.pending
    }

    fn acknowledge(&mut self, counters: CounterSet) {
        self.pending = self.pending.without(counters);
    }

    fn timer_pending(&self) -> bool {
        self.timer
    }
}

/// Returns an interrupt at `time`. Its address is `time` plus 0x1_0000.
pub(crate) fn at(time: u64) -> InterruptPoint<Mode> {
    InterruptPoint {
        address: time.wrapping_add(0x1_0000),
        strand: StrandId::new(70).unwrap(),
        time,
        mode: Mode::Kernel,
    }
}

pub(crate) fn period(events: u32) -> Period {
    Period::new(events).unwrap()
}

pub(crate) fn sampled(event: u8, pace: Pace) -> Request<FakeEvent> {
    Request { event: FakeEvent(event), pace: Some(pace) }
}

pub(crate) fn every(event: u8, events: u32) -> Request<FakeEvent> {
    sampled(event, Pace::every(period(events)))
}

pub(crate) fn counted(event: u8) -> Request<FakeEvent> {
    Request { event: FakeEvent(event), pace: None }
}

/// Starts a profiler at time 0. Returns the profiler, and its unit with an empty write log.
pub(crate) fn started<const AT: u32, const TURNS: usize>(
    requests: &[Request<FakeEvent>],
) -> (Profiler<Fake<AT>, TURNS, 1000>, Fake<AT>) {
    let mut profiler = Profiler::new(ModeSet::ALL, requests).unwrap();
    let mut unit = Fake::default();
    profiler.start(&mut unit, 0).unwrap();
    unit.written.clear();
    (profiler, unit)
}

/// Removes the samples, and returns their periods.
pub(crate) fn periods<const AT: u32, const TURNS: usize>(
    profiler: &mut Profiler<Fake<AT>, TURNS, 1000>,
) -> Vec<u64> {
    samples(profiler).map(|sample| sample.period).collect()
}

pub(crate) fn samples<const AT: u32, const TURNS: usize, const ROOM: usize>(
    profiler: &mut Profiler<Fake<AT>, TURNS, ROOM>,
) -> impl Iterator<Item = Sample<FakeEvent, Mode>> {
    std::iter::from_fn(|| profiler.pop())
}

pub(crate) const BOTH: [Counter; 2] = [Pic0, Pic1];
