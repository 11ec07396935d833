//! Tests the profiler on both units, with random events and random interrupt delays. Counts must be exact, and samples must account for all
//! counted events.

use guest_abi::Counter::{self, Pic0, Pic1};
use guest_abi::StrandId;
use guest_abi::sampling::{
    CounterUnit, InterruptPoint, ModeSet, Pace, Period, Profiler, Request, UnitMode,
};
use platform::models::r10000::R10000Event;
use platform::models::{Early, R10000};
use proptest::prelude::*;

use guest_abi::event::SparcEvent;

use crate::counter_units::conformance::Machine;
use crate::counter_units::sparc::Strand;

/// A unit with the functions that the profiler tests need in addition to [`Machine`].
trait Sampled: Machine {
    /// Returns one event for each counter. The two events never occur together.
    fn pair() -> [Self::Event; 2];

    /// Makes the next interrupt come this number of events early, if the unit supports that.
    fn next_early(&mut self, events: u8);
}

impl Sampled for Strand {
    fn pair() -> [Self::Event; 2] {
        [SparcEvent::Loads.into(), SparcEvent::DataCacheMisses.into()]
    }

    fn next_early(&mut self, events: u8) {
        self.strand_mut().set_early(Early::new(events).unwrap());
    }
}

impl Sampled for R10000 {
    fn pair() -> [Self::Event; 2] {
        [R10000Event::Graduated0, R10000Event::L1DataMisses]
    }

    fn next_early(&mut self, _: u8) {}
}

fn at<M: Sampled>(time: u64) -> InterruptPoint<M::Mode> {
    InterruptPoint {
        address: 4 * time,
        strand: StrandId::new(0).unwrap(),
        time,
        mode: M::Mode::ALL[0],
    }
}

fn period(events: u32) -> Period {
    Period::new(events).unwrap()
}

fn request<M: Sampled>(counter: Counter, pace: Option<Pace>) -> Request<M::Event> {
    Request { event: M::pair()[counter.index()], pace }
}

#[derive(Clone, Debug)]
struct Step {
    events: [u32; 2],
    early: u8,
    /// The number of steps that pass before the interrupt is taken.
    delay: u32,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop_oneof![3 => 0_u32..4, 1 => 0_u32..300];
    let step = ((some(), some()), 0_u8..=15, prop_oneof![3 => Just(0_u32), 1 => 0_u32..10]);
    let step = step.prop_map(|((event0, event1), early, delay)| Step {
        events: [event0, event1],
        early,
        delay,
    });
    prop::collection::vec(step, 1..400)
}

/// Asserts that counts are exact and that no sample is lost with these periods.
fn exact<M: Sampled>(periods: [u32; 2], shift: Option<u32>, steps: &[Step]) {
    let pace = |events| {
        let pace = Pace::every(period(events));
        shift.map_or(pace, |shift| pace.randomised(shift, events.into()))
    };
    let requests =
        [Pic0, Pic1].map(|counter| request::<M>(counter, Some(pace(periods[counter.index()]))));
    let mut profiler = Profiler::<M, 1, 4096>::new(ModeSet::ALL, &requests).unwrap();
    let mut unit = M::reset();
    profiler.start(&mut unit, 0).unwrap();

    let (mut truth, mut stood_for, mut samples) = ([0_u64; 2], [0_u64; 2], [0_u64; 2]);
    let mut wait = None;
    for (time, step) in (1..).zip(steps) {
        unit.next_early(step.early);
        let [event0, event1] = M::pair();
        let happened = [(event0, step.events[0]), (event1, step.events[1])];
        unit.happen(M::Mode::ALL[0], &happened);
        for counter in [Pic0, Pic1] {
            truth[counter.index()] += u64::from(step.events[counter.index()]);
        }
        wait = match wait {
            None if unit.interrupted() => Some(step.delay),
            Some(left) if left > 0 => Some(left - 1),
            other => other,
        };
        if wait != Some(0) {
            continue;
        }
        wait = None;
        let cause = profiler.handle(&mut unit, &at::<M>(time)).unwrap();
        assert!(!cause.counters.is_empty() && !cause.timer);
        assert!(!unit.interrupted(), "the handler ends the interrupt");
        while let Some(sample) = profiler.pop() {
            let which = usize::from(sample.event == event1);
            assert_eq!(sample.at, at::<M>(time));
            stood_for[which] += sample.period;
            samples[which] += 1;
        }
        for (which, report) in profiler.events().enumerate() {
            assert_eq!(report.estimate.unwrap().counted, truth[which]);
            // The counted events, plus the events that remain until the next overflow, are a whole number of periods.
            let left = -i64::from(unit.past_overflow(report.counter));
            let next = i64::from(report.period.unwrap().events());
            assert_eq!(truth[which] as i64 + left, stood_for[which] as i64 + next);
        }
    }
    profiler.stop(&mut unit, &at::<M>(steps.len() as u64 + 1));
    for (which, report) in profiler.events().enumerate() {
        assert_eq!(report.estimate.map_or(0, |estimate| estimate.counted), truth[which]);
        assert!(report.samples >= samples[which]);
        if shift.is_none() {
            let whole = truth[which] / u64::from(periods[which]);
            let early = 15 / u64::from(periods[which]) + 1;
            let all = report.samples + report.missed;
            assert!(all >= whole && all <= whole + early, "{all} of {whole}");
        }
    }
    assert_eq!((profiler.spurious(), profiler.lost()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn counts_are_exact_and_no_sample_is_lost(
        period0 in prop_oneof![1_u32..20, 1_u32..2000],
        period1 in prop_oneof![1_u32..20, 1_u32..2000],
        shift in prop::option::of(1_u32..6),
        steps in steps(),
    ) {
        exact::<Strand>([period0, period1], shift, &steps);
        exact::<R10000>([period0, period1], shift, &steps);
    }
}

/// Each of a loop's 100 instructions causes one event, and the period is 1000. Without randomisation, all samples are of the same
/// instruction. With randomisation, each instruction gets about a hundredth of the samples.
fn loops<M: Sampled>() {
    let hits = |pace: Pace| {
        let mut profiler =
            Profiler::<M, 1, 8>::new(ModeSet::ALL, &[request::<M>(Pic0, Some(pace))]).unwrap();
        let mut unit = M::reset();
        profiler.start(&mut unit, 0).unwrap();
        let mut hits = [0_u32; 100];
        for step in 0..2_000_000_u64 {
            unit.happen(M::Mode::ALL[0], &[(M::pair()[0], 1)]);
            if unit.interrupted() {
                profiler.handle(&mut unit, &at::<M>(step)).unwrap();
                let sample = profiler.pop().unwrap();
                hits[(sample.at.time % 100) as usize] += 1;
            }
        }
        hits
    };
    let fixed = hits(Pace::every(period(1000)));
    assert_eq!(fixed[99], 2000);
    assert_eq!(fixed.iter().filter(|hits| **hits > 0).count(), 1);

    let random = hits(Pace::every(period(1000)).randomised(3, 4711));
    let samples: u32 = random.iter().sum();
    assert!((1990..=2010).contains(&samples));
    // The chi-square statistic has 99 degrees of freedom. If the code is correct, the statistic exceeds 149 in one out of a thousand
    // experiments.
    let expected = f64::from(samples) / 100.0;
    let chi_square: f64 =
        random.iter().map(|hits| (f64::from(*hits) - expected).powi(2) / expected).sum();
    assert!(chi_square < 149.0, "{chi_square}");
}

#[test]
fn random_periods_sample_all_instructions_of_a_loop() {
    loops::<Strand>();
    loops::<R10000>();
}

/// Checks IP[7] for every combination of Compare and the two counters.
#[test]
fn the_handler_tells_compare_from_the_counters() {
    for case in 0..8_u32 {
        let requests =
            [Pic0, Pic1].map(|counter| request::<R10000>(counter, Some(Pace::every(period(100)))));
        let mut profiler = Profiler::<R10000, 1, 8>::new(ModeSet::ALL, &requests).unwrap();
        let mut unit = R10000::new();
        profiler.start(&mut unit, 0).unwrap();
        let [over0, over1, compare] = [0, 1, 2].map(|bit| case >> bit & 1 != 0);
        if compare {
            unit.match_compare();
        }
        let [event0, event1] = R10000::pair();
        let happened = [(event0, 99 + u32::from(over0)), (event1, 99 + u32::from(over1))];
        unit.happen(UnitMode::ALL[0], &happened);
        assert_eq!(unit.ip7(), case != 0);

        let cause = profiler.handle(&mut unit, &at::<R10000>(1)).unwrap();
        assert_eq!(cause.counters.contains(Pic0), over0);
        assert_eq!(cause.counters.contains(Pic1), over1);
        assert_eq!(cause.timer, compare);
        assert_eq!(cause.is_spurious(), case == 0);
        assert_eq!(profiler.spurious(), u64::from(case == 0));
        assert_eq!(unit.ip7(), compare, "the part of Compare is for its own handler");
        assert_eq!(profiler.waiting(), usize::from(over0) + usize::from(over1));
    }
}

/// The right to HT is revoked while the profiler uses it. The next interrupt returns an error, and no count is lost.
#[test]
fn a_right_that_is_lost_ends_the_profile() {
    let requests = [request::<Strand>(Pic0, Some(Pace::every(period(10))))];
    let mut profiler = Profiler::<Strand, 1, 8>::new(ModeSet::ALL, &requests).unwrap();
    let mut unit = Strand::reset();
    profiler.start(&mut unit, 0).unwrap();
    unit.happen(UnitMode::ALL[0], &[(Strand::pair()[0], 12)]);
    unit.grant_ht(false);
    assert!(profiler.handle(&mut unit, &at::<Strand>(1)).is_err());
    assert_eq!(profiler.waiting(), 1);
    unit.happen(UnitMode::ALL[0], &[(Strand::pair()[0], 12)]);
    let report = profiler.events().next().unwrap();
    assert_eq!(report.estimate.unwrap().counted, 12);
    assert_eq!(unit.read(Pic0), u32::MAX - 7, "8 events left, and stopped");
}
