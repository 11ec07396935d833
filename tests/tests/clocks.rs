//! Tests the clock of a machine with three time sources (%stick, %tick and a PTIMER), which fail in different ways.

use std::cell::RefCell;

use guest_abi::StrandId;
use guest_abi::clock::{Clock, ClockSource, Description};
use hv_core::time::{
    Candidate, DayReading, Environment, Fault, Finding, Limits, Reason, TimeOfDay, Timekeeper,
    Verdict, Watchdog,
};
use platform::AccessError;
use platform::models::{PtimerEngine, TickCounters};
use platform::ptimer::{Input, NANOSECONDS, Ptimer, PtimerRegisters, Register};
use platform::ticks::{Alignment, TickSource};
use tests::machine::strand;

const SECOND: u64 = 1_000_000_000;
const TICK_HZ: u32 = 1_415_103_448;
const STICK_HZ: u32 = 1_000_000_000;

const NPT: u64 = 1 << 63;

/// A T5440 with power management. Its strands may idle.
const ENVIRONMENT: Environment = Environment {
    strands: 256,
    idle_stops_counters: true,
    rate_changes: true,
    cpu_hz: TICK_HZ as u64,
    poll_interval: SECOND,
};

/// The strands' counters and a timer, which all show the same time.
struct Hardware {
    ticks: TickCounters,
    timer: RefCell<PtimerEngine>,
}

impl Hardware {
    fn new() -> Self {
        Self {
            ticks: TickCounters::new(TICK_HZ, STICK_HZ),
            timer: PtimerEngine::new(Input::NV41).into(),
        }
    }

    fn pass(&self, nanoseconds: u64) {
        self.ticks.set_time(self.ticks.now() + nanoseconds);
    }

    /// Returns %stick, %tick and the timer as candidate sources.
    fn candidates(&self, alignment: Alignment) -> [Candidate<Source<'_>>; 3] {
        [
            Source::Strand(TickSource::stick(&self.ticks, STICK_HZ.into(), alignment)),
            Source::Strand(TickSource::tick(&self.ticks, TICK_HZ.into(), alignment)),
            Source::Timer(Ptimer::start(self, Input::NV41, NANOSECONDS).unwrap()),
        ]
        .map(Candidate::new)
    }

    fn keeper(&self, alignment: Alignment) -> Timekeeper<Source<'_>, 3> {
        Timekeeper::new(self.candidates(alignment), &ENVIRONMENT, strand(0)).unwrap()
    }
}

/// Returns hardware on which %stick is 90 parts per million too fast on every strand.
fn drifting() -> Hardware {
    let hardware = Hardware::new();
    for number in 0..256 {
        let mut stick = hardware.ticks.stick_counter(strand(number));
        stick.set_drift(90_000, 0);
    }
    hardware
}

/// A time source of an image: one type for all, so that no trait object is needed.
enum Source<'a> {
    Strand(TickSource<&'a TickCounters>),
    Timer(Ptimer<&'a Hardware>),
}

impl ClockSource for Source<'_> {
    fn describe(&self) -> Description {
        match self {
            Self::Strand(source) => source.describe(),
            Self::Timer(source) => source.describe(),
        }
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        match self {
            Self::Strand(source) => source.read(strand),
            Self::Timer(source) => source.read(strand),
        }
    }
}

/// Each access to the timer takes 400 ns.
impl PtimerRegisters for Hardware {
    fn read(&self, register: Register) -> Result<u32, AccessError> {
        self.pass(400);
        self.timer.borrow_mut().read(register, self.ticks.now())
    }

    fn write(&self, register: Register, value: u32) -> Result<(), AccessError> {
        self.pass(400);
        self.timer.borrow_mut().write(register, value, self.ticks.now())
    }
}

#[test]
fn verdicts_of_a_machine() {
    let hardware = Hardware::new();
    let varies = Verdict::Unsafe(Reason::RateVaries);
    let apart = Verdict::Unsafe(Reason::Unsynchronised(256));
    for (alignment, expected) in [
        (Alignment::Aligned, [Verdict::Safe, varies, Verdict::Safe]),
        (Alignment::Unknown, [apart, apart, Verdict::Safe]),
    ] {
        let verdicts = hardware.candidates(alignment).map(|candidate| {
            let description = candidate.source.map(|source| source.describe());
            Verdict::assess(description.as_ref(), &ENVIRONMENT, candidate.operator)
        });
        assert_eq!(verdicts, expected, "{alignment:?}");
    }
}

#[test]
fn without_synchronised_strands_the_timer_is_chosen() {
    let hardware = Hardware::new();
    let keeper = hardware.keeper(Alignment::Unknown);
    assert_eq!(keeper.chosen(), 2);
    let clocks = [0, 255].map(|number| keeper.clock(strand(number)));
    let begun = hardware.ticks.now();
    // TIME_0 wraps several times during the loop.
    for second in 1..=20 {
        hardware.pass(SECOND);
        for clock in &clocks {
            let passed = hardware.ticks.now() - begun;
            assert!(clock.ticks().abs_diff(passed) < 2000, "{second}");
        }
    }
}

#[test]
fn npt_has_no_effect_on_the_clock() {
    let hardware = Hardware::new();
    let keeper = hardware.keeper(Alignment::Aligned);
    assert_eq!(keeper.chosen(), 0);
    let clock = keeper.clock(strand(9));
    let mut last = clock.ticks();
    for npt in [NPT, 0, NPT, NPT, 0] {
        let now = hardware.ticks.now();
        let mut stick = hardware.ticks.stick_counter(strand(9));
        let count = stick.read(now) & !NPT;
        stick.write(count | npt, now);
        drop(stick);
        hardware.pass(100);
        assert_eq!(clock.ticks(), last + 100);
        last += 100;
    }
}

#[test]
fn a_stick_that_goes_wrong_is_replaced_by_the_timer() {
    type Wrong = fn(&mut platform::models::TickCounter, u64);
    let cases: [(Wrong, Option<Fault>); 4] = [
        (|stick, now| stick.set_stopped(true, now), Some(Fault::Stopped)),
        (|stick, now| stick.set_drift(2_000_000, now), None),
        (|stick, now| stick.set_drift(-2_000_000, now), None),
        (|stick, now| stick.write(0, now), Some(Fault::Backwards)),
    ];
    for (wrong, fault) in cases {
        let hardware = Hardware::new();
        hardware.pass(SECOND);
        let keeper = hardware.keeper(Alignment::Aligned);
        let begun = hardware.ticks.now();
        let clock = keeper.clock(strand(5));
        let mut watchdog = Watchdog::new(Limits::default());
        assert_eq!(watchdog.check(&keeper, strand(5)), Finding::Begun);
        for _ in 0..10 {
            hardware.pass(SECOND / 2);
            assert_eq!(watchdog.check(&keeper, strand(5)), Finding::Agrees);
        }
        let now = hardware.ticks.now();
        wrong(&mut hardware.ticks.stick_counter(strand(5)), now);
        hardware.pass(SECOND / 2);
        let before = clock.ticks();
        let found = watchdog.check(&keeper, strand(5));
        let (source, chosen) = (0, 2);
        let Some(fault) = fault else {
            // With only two clocks, there is no way to tell which one is wrong.
            assert!(matches!(found, Finding::Undecided { .. }), "{found:?}");
            continue;
        };
        assert_eq!(found, Finding::Demoted { source, fault, chosen });
        let after = clock.ticks();
        assert!(after >= before);
        hardware.pass(SECOND);
        let passed = hardware.ticks.now() - begun;
        assert!(keeper.time(strand(5)).unwrap().abs_diff(passed) < 10_000, "{fault:?}");
    }
}

#[test]
fn the_watchdog_measures_stick_by_the_timer() {
    let hardware = drifting();
    let keeper = hardware.keeper(Alignment::Aligned);
    let mut watchdog = Watchdog::new(Limits::default());
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
    // The check runs on one strand after another, for ten minutes.
    for number in 1..=600 {
        hardware.pass(SECOND);
        let strand = strand(number % 256);
        assert_eq!(watchdog.check(&keeper, strand), Finding::Agrees);
        let found = watchdog.frequency().unwrap();
        assert_eq!((found.source, found.reference), (0, 2));
        // The expected frequency is 1 GHz plus 90 parts per million, in millihertz.
        let bounds = found.frequency.min..=found.frequency.max;
        assert!(bounds.contains(&1_000_090_000_000), "{bounds:?}");
        if number > 60 {
            // The two readings are at least a minute apart, and each is accurate to 1.6 us.
            assert!(found.frequency.uncertainty() < 60_000);
        }
    }
}

/// A clock that shows whole seconds, such as a service processor's clock, is a good reference for the time of day.
#[test]
fn the_time_of_day_follows_a_clock_of_whole_seconds() {
    const EPOCH: u64 = 1_290_000_000;
    let hardware = drifting();
    hardware.pass(SECOND / 3);
    let keeper = hardware.keeper(Alignment::Aligned);
    let clock = keeper.clock(strand(0));
    let read = || DayReading {
        before: clock.ticks(),
        day: (EPOCH + hardware.ticks.now() / SECOND) * SECOND,
        after: clock.ticks(),
        max_lag: SECOND,
    };
    let mut day = TimeOfDay::new(read());
    let mut last = 0;
    // In ten days, the drift adds up to 77 s.
    for number in 0..86_400 {
        hardware.pass(10 * SECOND + number * 1_234_567 % SECOND);
        day.follow(read());
        let shown = day.at(clock.ticks());
        assert!(shown >= last);
        last = shown;
        let truth = EPOCH * SECOND + hardware.ticks.now();
        // Between two readings, the clock drifts by up to 1 ms. In this test, no time passes during a reading.
        assert!(shown.abs_diff(truth) <= SECOND + 1_100_000, "{number}");
    }
    // The clock itself still drifts, because the time of day does not correct it.
    let passed = hardware.ticks.now() - SECOND / 3;
    let expected = passed + passed / 1_000_000 * 90;
    assert!(clock.ticks().abs_diff(expected) < 10_000);
}

#[test]
fn a_timer_that_hangs_does_not_demote_stick() {
    let hardware = Hardware::new();
    let keeper = hardware.keeper(Alignment::Aligned);
    let mut watchdog = Watchdog::new(Limits::default());
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
    hardware.write(Register::Denominator, 0xffff).unwrap();
    hardware.pass(SECOND / 2);
    let (source, fault) = (2, Fault::Unreadable);
    let found = watchdog.check(&keeper, strand(0));
    assert_eq!(found, Finding::Demoted { source, fault, chosen: 0 });
    assert_eq!(keeper.chosen(), 0);
}
