//! The watchdog: its findings, and their effects.

use std::cell::RefCell;

use guest_abi::clock::Clock;
use hv_core::time::{Fault, Finding, Limits, Skipped, Timekeeper, Watchdog};
use proptest::prelude::*;

use crate::world::{Counter, MICROSECOND, MILLISECOND, SECOND, World, keeper, strand};

const HALF: u64 = SECOND / 2;

fn counters<const N: usize>(world: &World) -> [Counter<'_>; N] {
    let sources = [
        (63, 1_165_379_275, 300),
        (56, 31_250_000, 200),
        (63, SECOND, 100),
    ];
    std::array::from_fn(|number| {
        let (width, hz, rating) = sources[number];
        Counter::new(world, width, hz, rating)
    })
}

/// A timekeeper of counters, and the watchdog that checks it.
struct Watched<'a, const N: usize> {
    keeper: Timekeeper<&'a Counter<'a>, N>,
    watchdog: RefCell<Watchdog>,
}

impl<'a, const N: usize> Watched<'a, N> {
    fn new(counters: &'a [Counter<'a>; N]) -> Self {
        Self {
            keeper: keeper(counters.each_ref()),
            watchdog: Watchdog::new(Limits::default()).into(),
        }
    }

    /// Returns a timekeeper after the first check, which only begins the comparison.
    fn begun(counters: &'a [Counter<'a>; N]) -> Self {
        let watched = Self::new(counters);
        assert_eq!(watched.check(0), Finding::Begun);
        watched
    }

    /// Checks the timekeeper on the strand of this number.
    fn check(&self, on: usize) -> Finding {
        self.watchdog.borrow_mut().check(&self.keeper, strand(on))
    }
}

const fn skipped(why: Skipped) -> Finding {
    Finding::Skipped(why)
}

/// Source 1, the reference, is not used any more.
const fn bad_reference(fault: Fault) -> Finding {
    Finding::BadReference { source: 1, fault }
}

/// The watchdog has replaced source 0, the chosen one, by source 1.
const fn demoted(fault: Fault) -> Finding {
    Finding::Demoted {
        source: 0,
        fault,
        chosen: 1,
    }
}

#[test]
fn good_clocks_agree() {
    let world = World::default();
    let counters = counters::<3>(&world);
    counters[0].set_drift(100_000);
    counters[1].set_drift(-100_000);
    let watched = Watched::begun(&counters);
    for check in 0..1000 {
        world.pass(HALF);
        assert_eq!(watched.check(check % 3), Finding::Agrees);
    }
    // The clock is still 100 parts per million fast after 500 s: the watchdog does not steer it.
    let time = watched.keeper.time(strand(0)).unwrap();
    assert!((time - world.now()).abs_diff(world.now() / 10_000) < MICROSECOND);
}

/// Injects a fault into the chosen source between two checks, and asserts that the second check finds `fault` and replaces
/// the source without a step back of the time; with two sources, and with three.
fn check_replaced(inject: impl Fn(&Counter<'_>), fault: Fault) {
    fn case<const N: usize>(inject: &dyn Fn(&Counter<'_>), fault: Fault) {
        let world = World::default();
        let counters = counters::<N>(&world);
        world.pass(SECOND);
        let watched = Watched::new(&counters);
        let begun = world.now();
        let clock = watched.keeper.clock(strand(0));
        world.pass(10 * SECOND);
        assert_eq!(watched.check(0), Finding::Begun);
        inject(&counters[0]);
        world.pass(HALF);
        let before = clock.ticks();
        assert_eq!(watched.check(0), demoted(fault));
        assert_eq!(watched.keeper.chosen(), 1);
        let after = clock.ticks();
        let passed = world.now() - begun;
        assert!(after >= before, "a step back");
        // The clock includes the time that the chosen source did not count.
        assert!(after + 2 * MICROSECOND >= passed, "{after} after {passed}");
        // From now on the clock is right.
        world.pass(SECOND);
        assert!((clock.ticks() - after).abs_diff(SECOND) < MICROSECOND);
        if N == 3 {
            assert_eq!(watched.check(0), Finding::Begun);
            world.pass(HALF);
            assert_eq!(watched.check(0), Finding::Agrees);
        } else {
            assert_eq!(watched.check(0), Finding::NoReference);
        }
    }
    case::<2>(&inject, fault);
    case::<3>(&inject, fault);
}

#[test]
fn a_bad_clock_is_replaced_without_a_step_back() {
    check_replaced(|chosen| chosen.set_drift(1_000_000), Fault::Fast);
    check_replaced(|chosen| chosen.set_drift(-1_000_000), Fault::Slow);
    check_replaced(|chosen| chosen.set_drift(500_000_000), Fault::Fast);
    check_replaced(|chosen| chosen.set_stopped(true), Fault::Stopped);
    check_replaced(|chosen| chosen.jump(3_000_000_000), Fault::Fast);
    check_replaced(|chosen| chosen.jump(-100_000_000), Fault::Slow);
    check_replaced(|chosen| chosen.jump(-1_000_000_000), Fault::Backwards);
    check_replaced(|chosen| chosen.dead.set(true), Fault::Unreadable);
}

#[test]
fn a_clock_that_stands_still_from_the_first_check_on_is_replaced() {
    let world = World::default();
    let counters = counters::<2>(&world);
    world.pass(SECOND);
    let watched = Watched::new(&counters);
    counters[0].set_stopped(true);
    assert_eq!(watched.check(0), Finding::Begun);
    world.pass(HALF);
    assert_eq!(watched.check(0), demoted(Fault::Stopped));
}

#[test]
fn a_reference_that_is_slow_to_read_condemns_no_source() {
    let world = World::default();
    let counters = counters::<2>(&world);
    let watched = Watched::begun(&counters);
    // A congested bus: a read of the reference takes 1 to 10 ms.
    for slow in 1..=10 {
        counters[1].cost.set(slow * MILLISECOND);
        world.pass(HALF);
        assert_eq!(watched.check(0), skipped(Skipped::SlowReference));
    }
    assert_eq!(watched.keeper.chosen(), 0);
    counters[1].cost.set(500);
    assert_eq!(
        watched.check(0),
        Finding::Agrees,
        "compared with the last conclusive check"
    );
    // A fault that occurs meanwhile is found later.
    counters[1].cost.set(MILLISECOND);
    counters[0].jump(100_000_000);
    assert_eq!(watched.check(0), skipped(Skipped::SlowReference));
    counters[1].cost.set(500);
    assert_eq!(watched.check(0), demoted(Fault::Fast));
}

#[test]
fn an_interruption_condemns_no_source() {
    let world = World::default();
    let counters = counters::<2>(&world);
    let watched = Watched::begun(&counters);
    world.pass(HALF);
    counters[0].cost.set(MILLISECOND);
    assert_eq!(watched.check(0), skipped(Skipped::Disturbed));
    counters[0].cost.set(20);
    assert_eq!(watched.check(0), Finding::Agrees);
}

#[test]
fn the_tiebreaker_detects_a_bad_reference() {
    for (inject, fault) in [
        (
            (|bad| bad.set_drift(2_000_000)) as fn(&Counter<'_>),
            Fault::Fast,
        ),
        (|bad| bad.set_drift(-2_000_000), Fault::Slow),
        (|bad| bad.jump(31_250_000), Fault::Fast),
        (|bad| bad.set_stopped(true), Fault::Stopped),
        (|bad| bad.dead.set(true), Fault::Unreadable),
    ] {
        let world = World::default();
        let counters = counters::<3>(&world);
        let watched = Watched::begun(&counters);
        inject(&counters[1]);
        world.pass(HALF);
        assert_eq!(watched.check(0), bad_reference(fault));
        assert_eq!(watched.keeper.chosen(), 0);
        // The tiebreaker is the reference now.
        assert_eq!(watched.check(0), Finding::Begun);
        world.pass(HALF);
        assert_eq!(watched.check(0), Finding::Agrees);
    }
}

/// The tiebreaker is read 10 ms after the chosen source: that delay must not count against either source.
#[test]
fn a_tiebreaker_that_is_slow_to_read_can_decide() {
    let world = World::default();
    let counters = counters::<3>(&world);
    let watched = Watched::begun(&counters);
    counters[1].set_drift(500_000_000);
    counters[2].cost.set(20 * MILLISECOND);
    world.pass(HALF);
    assert_eq!(watched.check(0), bad_reference(Fault::Fast));
}

#[test]
fn if_the_tiebreaker_cannot_decide_the_chosen_source_is_replaced() {
    let world = World::default();
    let counters = counters::<3>(&world);
    // The tiebreaker advances in steps of 10 ms: a difference of 1 ms in half a second is within a step.
    counters[2].describe_as(|description| description.step = 10_000_000);
    let watched = Watched::begun(&counters);
    counters[0].set_drift(2_000_000);
    world.pass(HALF);
    assert_eq!(watched.check(0), demoted(Fault::Fast));
}

#[test]
fn if_all_sources_differ_the_chosen_one_is_replaced() {
    let world = World::default();
    let counters = counters::<3>(&world);
    let watched = Watched::begun(&counters);
    counters[0].set_drift(5_000_000);
    counters[1].set_drift(-5_000_000);
    world.pass(HALF);
    assert_eq!(watched.check(0), demoted(Fault::Fast));
}

#[test]
fn a_reference_that_stands_still_is_retired_after_16_checks() {
    let world = World::default();
    let counters = counters::<2>(&world);
    let watched = Watched::begun(&counters);
    // It stops between two checks, and so has advanced since the first.
    world.pass(HALF / 2);
    counters[1].set_stopped(true);
    for _ in 0..15 {
        world.pass(HALF);
        assert_eq!(watched.check(0), skipped(Skipped::ReferenceStill));
    }
    world.pass(HALF);
    assert_eq!(watched.check(0), bad_reference(Fault::Stopped));
    assert_eq!(watched.check(0), Finding::NoReference);
    assert_eq!(watched.keeper.chosen(), 0);
}

#[test]
fn a_reference_between_two_steps_is_not_a_stopped_one() {
    let world = World::default();
    let counters = counters::<2>(&world);
    counters[1].describe_as(|description| description.step = 31_250_000);
    let watched = Watched::begun(&counters);
    // A jump of ten seconds, which the first checks see before the reference advances.
    counters[0].jump(11_653_792_750);
    for _ in 0..5 {
        assert_eq!(watched.check(0), skipped(Skipped::ReferenceStill));
        world.pass(100 * MILLISECOND);
    }
    world.pass(SECOND);
    assert_eq!(watched.check(0), demoted(Fault::Fast));
}

#[test]
fn a_source_with_large_steps_is_not_bad() {
    for coarse in 0..2 {
        let world = World::default();
        let counters = counters::<2>(&world);
        // Steps of about 10 ms.
        counters[coarse].describe_as(|description| description.step = description.hz / 100);
        let watched = Watched::begun(&counters);
        for check in 1..200 {
            world.pass(check * MILLISECOND / 3);
            assert_eq!(watched.check(0), Finding::Agrees, "{check}");
        }
    }
}

#[test]
fn counters_that_differ_between_strands_are_detected() {
    let world = World::default();
    let counters = counters::<2>(&world);
    counters[0].apart.set([0, 5_000_000, 0]);
    let watched = Watched::begun(&counters);
    world.pass(HALF);
    assert_eq!(watched.check(1), demoted(Fault::Fast));
}

#[test]
fn a_single_source_is_not_checked() {
    let world = World::default();
    let counters = counters::<1>(&world);
    let watched = Watched::new(&counters);
    assert_eq!(watched.check(0), Finding::NoReference);
}

proptest! {
    #[test]
    fn only_a_drift_beyond_the_tolerance_is_a_fault(
        drift in 0..400_i64,
        more in 0..100_000_i64,
        sign in prop::bool::ANY,
        costs in (40..1000_u64, 40..5000_u64),
        pauses in prop::collection::vec(100 * MILLISECOND..10 * SECOND, 1..20),
    ) {
        let sign = if sign { 1 } else { -1 };
        for (parts, bad) in [(drift, false), (1100 + more, true)] {
            let world = World::default();
            let counters = counters::<2>(&world);
            counters[0].cost.set(costs.0);
            counters[1].cost.set(costs.1);
            let watched = Watched::begun(&counters);
            counters[0].set_drift(sign * parts * 1000);
            for pause in &pauses {
                world.pass(*pause);
                let found = watched.check(0);
                if bad {
                    let fault = if sign > 0 { Fault::Fast } else { Fault::Slow };
                    prop_assert_eq!(found, demoted(fault));
                    break;
                }
                prop_assert_eq!(found, Finding::Agrees);
            }
        }
    }

    #[test]
    fn a_good_clock_stays_however_slow_the_reference_is(
        costs in prop::collection::vec((0..100 * MICROSECOND, 0..5 * MILLISECOND, 0..2 * SECOND), 1..60),
    ) {
        let world = World::default();
        let counters = counters::<3>(&world);
        let watched = Watched::new(&counters);
        for (chosen, reference, pause) in costs {
            counters[0].cost.set(chosen);
            counters[1].cost.set(reference);
            world.pass(pause);
            let found = watched.check(0);
            prop_assert!(
                matches!(found, Finding::Begun | Finding::Agrees | Finding::Skipped(_)),
                "{:?}", found
            );
        }
        prop_assert_eq!(watched.keeper.chosen(), 0);
    }
}
