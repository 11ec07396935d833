//! The findings of the watchdog, and their effects.

use std::cell::RefCell;

use guest_abi::clock::Clock;
use hv_core::time::{Fault, Finding, Limits, Skipped, Timekeeper, Watchdog};
use proptest::prelude::*;

use crate::world::{Counter, MICROSECOND, MILLISECOND, SECOND, World, keeper, strand};

const HALF: u64 = SECOND / 2;

const SOURCES: [(u8, u64, u16); 3] =
    [(63, 1_165_379_275, 300), (56, 31_250_000, 200), (63, SECOND, 100)];

/// A timekeeper and its watchdog. The counters are leaked, so that both can use them forever.
pub(crate) struct Watched<const N: usize> {
    pub(crate) world: &'static World,
    pub(crate) counters: &'static [Counter<'static>; N],
    keeper: Timekeeper<&'static Counter<'static>, N>,
    pub(crate) watchdog: RefCell<Watchdog>,
}

impl<const N: usize> Watched<N> {
    /// Returns a timekeeper before its first check, after `change` has modified its counters.
    pub(crate) fn new(change: impl FnOnce(&World, &[Counter<'_>; N])) -> Self {
        let world: &World = Box::leak(Box::default());
        let counters: &[_; N] = Box::leak(Box::new(std::array::from_fn(|number| {
            let (width, hz, rating) = SOURCES[number];
            Counter::new(world, width, hz, rating)
        })));
        change(world, counters);
        Self {
            world,
            counters,
            keeper: keeper(counters.each_ref()),
            watchdog: Watchdog::new(Limits::default()).into(),
        }
    }

    /// Returns a timekeeper after its first check.
    fn begun(change: impl FnOnce(&[Counter<'_>; N])) -> Self {
        let watched = Self::new(|_, counters| change(counters));
        assert_eq!(watched.check(0), Finding::Begun);
        watched
    }

    /// Checks the timekeeper on the strand with this number.
    pub(crate) fn check(&self, on: usize) -> Finding {
        self.watchdog.borrow_mut().check(&self.keeper, strand(on))
    }

    /// Lets this time pass, and then checks the timekeeper.
    pub(crate) fn check_after(&self, nanoseconds: u64) -> Finding {
        self.world.pass(nanoseconds);
        self.check(0)
    }
}

const fn skipped(why: Skipped) -> Finding {
    Finding::Skipped(why)
}

/// The finding that source 1, the reference, is retired.
const fn bad_reference(fault: Fault) -> Finding {
    Finding::BadReference { source: 1, fault }
}

/// The finding that source 1 replaces source 0, the chosen source.
pub(crate) const fn demoted(fault: Fault) -> Finding {
    Finding::Demoted { source: 0, fault, chosen: 1 }
}

#[test]
fn good_clocks_agree() {
    let watched = Watched::<3>::begun(|counters| {
        counters[0].set_drift(100_000);
        counters[1].set_drift(-100_000);
    });
    let world = watched.world;
    for check in 0..1000 {
        world.pass(HALF);
        assert_eq!(watched.check(check % 3), Finding::Agrees);
    }
    // After 500 s the clock is still 100 parts per million fast, because the watchdog does not correct it.
    let time = watched.keeper.time(strand(0)).unwrap();
    assert!((time - world.now()).abs_diff(world.now() / 10_000) < MICROSECOND);
}

/// Injects a fault into the chosen source between two checks. Asserts that the second check finds `fault` and replaces the source, and that
/// the time does not step back. Tests this with two sources, and with three.
fn check_replaced(inject: impl Fn(&Counter<'_>), fault: Fault) {
    fn case<const N: usize>(inject: &dyn Fn(&Counter<'_>), fault: Fault) {
        let watched = Watched::<N>::new(|world, _| world.pass(SECOND));
        let world = watched.world;
        let (begun, clock) = (world.now(), watched.keeper.clock(strand(0)));
        assert_eq!(watched.check_after(10 * SECOND), Finding::Begun);
        inject(&watched.counters[0]);
        world.pass(HALF);
        let before = clock.ticks();
        assert_eq!(watched.check(0), demoted(fault));
        assert_eq!(watched.keeper.chosen(), 1);
        let (after, passed) = (clock.ticks(), world.now() - begun);
        assert!(after >= before, "a step back");
        // The time also covers the span that the replaced source missed.
        assert!(after + 2 * MICROSECOND >= passed, "{after} after {passed}");
        // The clock is right after the replacement.
        world.pass(SECOND);
        assert!((clock.ticks() - after).abs_diff(SECOND) < MICROSECOND);
        if N == 3 {
            assert_eq!(watched.check(0), Finding::Begun);
            assert_eq!(watched.check_after(HALF), Finding::Agrees);
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
    let watched = Watched::<2>::new(|_, counters| counters[0].set_stopped(true));
    assert_eq!(watched.check(0), Finding::Begun);
    assert_eq!(watched.check_after(HALF), demoted(Fault::Stopped));
}

#[test]
fn a_reference_that_is_slow_to_read_condemns_no_source() {
    let watched = Watched::<2>::begun(|_| {});
    // On a congested bus, a read of the reference takes 1 to 10 ms.
    for slow in 1..=10 {
        watched.counters[1].cost.set(slow * MILLISECOND);
        assert_eq!(watched.check_after(HALF), skipped(Skipped::SlowReference));
    }
    assert_eq!(watched.keeper.chosen(), 0);
    watched.counters[1].cost.set(500);
    // The watchdog still compares with the latest conclusive check.
    assert_eq!(watched.check(0), Finding::Agrees);
    // A fault that happens while checks are inconclusive is found by the next conclusive check.
    watched.counters[1].cost.set(MILLISECOND);
    watched.counters[0].jump(100_000_000);
    assert_eq!(watched.check(0), skipped(Skipped::SlowReference));
    watched.counters[1].cost.set(500);
    assert_eq!(watched.check(0), demoted(Fault::Fast));
}

#[test]
fn an_interruption_condemns_no_source() {
    let watched = Watched::<2>::begun(|_| {});
    watched.world.pass(HALF);
    watched.counters[0].cost.set(MILLISECOND);
    assert_eq!(watched.check(0), skipped(Skipped::Disturbed));
    watched.counters[0].cost.set(20);
    assert_eq!(watched.check(0), Finding::Agrees);
}

#[test]
fn the_tiebreaker_detects_a_bad_reference() {
    for (fault, inject) in [
        (Fault::Fast, (|bad| bad.set_drift(2_000_000)) as fn(&Counter<'_>)),
        (Fault::Slow, |bad| bad.set_drift(-2_000_000)),
        (Fault::Fast, |bad| bad.jump(31_250_000)),
        (Fault::Stopped, |bad| bad.set_stopped(true)),
        (Fault::Unreadable, |bad| bad.dead.set(true)),
    ] {
        let watched = Watched::<3>::begun(|_| {});
        inject(&watched.counters[1]);
        assert_eq!(watched.check_after(HALF), bad_reference(fault));
        assert_eq!(watched.keeper.chosen(), 0);
        // The tiebreaker has become the reference.
        assert_eq!(watched.check(0), Finding::Begun);
        assert_eq!(watched.check_after(HALF), Finding::Agrees);
    }
}

/// The tiebreaker is read 10 ms after the chosen source. This delay must not count against either source.
#[test]
fn a_tiebreaker_that_is_slow_to_read_can_decide() {
    let watched = Watched::<3>::begun(|_| {});
    watched.counters[1].set_drift(500_000_000);
    watched.counters[2].cost.set(20 * MILLISECOND);
    assert_eq!(watched.check_after(HALF), bad_reference(Fault::Fast));
}

#[test]
fn if_the_tiebreaker_cannot_decide_the_chosen_source_is_replaced() {
    // The tiebreaker advances in steps of 10 ms, so a difference of 1 ms in half a second is less than a step.
    let watched = Watched::<3>::begun(|counters| {
        counters[2].describe_as(|description| description.step = 10_000_000);
    });
    watched.counters[0].set_drift(2_000_000);
    assert_eq!(watched.check_after(HALF), demoted(Fault::Fast));
}

#[test]
fn if_all_sources_differ_the_chosen_one_is_replaced() {
    let watched = Watched::<3>::begun(|_| {});
    watched.counters[0].set_drift(5_000_000);
    watched.counters[1].set_drift(-5_000_000);
    assert_eq!(watched.check_after(HALF), demoted(Fault::Fast));
}

#[test]
fn a_reference_that_stands_still_is_retired_after_16_checks() {
    let watched = Watched::<2>::begun(|_| {});
    // The counter stops halfway between two checks, so it has advanced since the first check.
    watched.world.pass(HALF / 2);
    watched.counters[1].set_stopped(true);
    for _ in 0..15 {
        assert_eq!(watched.check_after(HALF), skipped(Skipped::ReferenceStill));
    }
    assert_eq!(watched.check_after(HALF), bad_reference(Fault::Stopped));
    assert_eq!(watched.check(0), Finding::NoReference);
    assert_eq!(watched.keeper.chosen(), 0);
}

#[test]
fn a_reference_between_two_steps_is_not_a_stopped_one() {
    let watched = Watched::<2>::begun(|counters| {
        counters[1].describe_as(|description| description.step = 31_250_000);
    });
    // The source jumps by ten seconds. The first checks find the jump before the reference advances.
    watched.counters[0].jump(11_653_792_750);
    for _ in 0..5 {
        assert_eq!(watched.check(0), skipped(Skipped::ReferenceStill));
        watched.world.pass(100 * MILLISECOND);
    }
    assert_eq!(watched.check_after(SECOND), demoted(Fault::Fast));
}

#[test]
fn a_source_with_large_steps_is_not_bad() {
    for coarse in 0..2 {
        // The counter advances in steps of about 10 ms.
        let watched = Watched::<2>::begun(|counters| {
            counters[coarse].describe_as(|description| description.step = description.hz / 100);
        });
        for check in 1..200 {
            assert_eq!(watched.check_after(check * MILLISECOND / 3), Finding::Agrees, "{check}");
        }
    }
}

#[test]
fn counters_that_differ_between_strands_are_detected() {
    let watched = Watched::<2>::begun(|counters| counters[0].apart.set([0, 5_000_000, 0]));
    watched.world.pass(HALF);
    assert_eq!(watched.check(1), demoted(Fault::Fast));
}

#[test]
fn a_single_source_is_not_checked() {
    let watched = Watched::<1>::new(|_, _| {});
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
            let watched = Watched::<2>::begun(|counters| {
                counters[0].cost.set(costs.0);
                counters[1].cost.set(costs.1);
            });
            watched.counters[0].set_drift(sign * parts * 1000);
            for pause in &pauses {
                let found = watched.check_after(*pause);
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
        let watched = Watched::<3>::new(|_, _| {});
        for (chosen, reference, pause) in costs {
            watched.counters[0].cost.set(chosen);
            watched.counters[1].cost.set(reference);
            let found = watched.check_after(pause);
            let is_good = matches!(found, Finding::Begun | Finding::Agrees | Finding::Skipped(_));
            prop_assert!(is_good, "{:?}", found);
        }
        prop_assert_eq!(watched.keeper.chosen(), 0);
    }
}
