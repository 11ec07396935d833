//! Tests the watchdog's findings, and their effects.

use std::cell::RefCell;

use guest_abi::clock::{Clock, Scope};
use hv_core::time::{Fault, Finding, Limits, Skipped, Timekeeper, Trust, Watchdog};
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
    pub(crate) watchdog: RefCell<Watchdog<N>>,
}

impl<const N: usize> Watched<N> {
    /// Returns a timekeeper that has not been checked yet. `change` can modify its counters.
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

    /// Returns a timekeeper after its first check. `change` can modify its counters before that check.
    fn begun(change: impl FnOnce(&[Counter<'_>; N])) -> Self {
        let watched = Self::new(|_, counters| change(counters));
        assert_eq!(watched.check(0), Finding::Begun);
        watched
    }

    /// Checks the timekeeper on strand number `on`.
    pub(crate) fn check(&self, on: usize) -> Finding {
        self.watchdog.borrow_mut().check(&self.keeper, strand(on))
    }

    /// Lets `nanoseconds` pass, and then checks the timekeeper.
    pub(crate) fn check_after(&self, nanoseconds: u64) -> Finding {
        self.world.pass(nanoseconds);
        self.check(0)
    }
}

/// Returns the finding that source 1 is bad and has been retired, while source 0 is still the chosen source.
const fn bad_reference(fault: Fault) -> Finding {
    Finding::Demoted { source: 1, fault, chosen: 0 }
}

/// Returns the finding that source 0 is bad and has been retired, and that source 1 is now the chosen source.
const fn demoted(fault: Fault) -> Finding {
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

/// Injects a fault into the chosen source between two checks. Asserts that the second check finds `fault` and replaces the
/// source. Afterwards the time must be right, and the clock must not have stepped back.
fn check_replaced<const N: usize>(inject: fn(&Counter<'_>), fault: Fault) {
    let watched = Watched::<N>::new(|world, _| world.pass(SECOND));
    let world = watched.world;
    let (begun, clock) = (world.now(), watched.keeper.clock(strand(0)));
    assert_eq!(watched.check_after(10 * SECOND), Finding::Begun);
    inject(&watched.counters[0]);
    world.pass(HALF);
    let before = clock.ticks();
    assert_eq!(watched.check(0), demoted(fault));
    assert_eq!(watched.keeper.chosen(), 1);
    let is_right =
        || watched.keeper.time(strand(0)).unwrap().abs_diff(world.now() - begun) < 5 * MICROSECOND;
    assert!(is_right(), "{fault:?}");
    let after = clock.ticks();
    assert!(after >= before, "a step back");
    // The clock stands still until the time has caught up.
    world.pass(5 * SECOND);
    assert!(clock.ticks().abs_diff(world.now() - begun) < 5 * MICROSECOND && is_right());
    let others = if N == 2 { Finding::NoReference } else { Finding::Agrees };
    assert_eq!(watched.check(0), others);
}

#[test]
fn a_bad_clock_is_replaced() {
    check_replaced::<3>(|chosen| chosen.set_drift(1_000_000), Fault::Fast);
    check_replaced::<3>(|chosen| chosen.set_drift(-1_000_000), Fault::Slow);
    check_replaced::<3>(|chosen| chosen.set_drift(500_000_000), Fault::Fast);
    check_replaced::<3>(|chosen| chosen.jump(3_000_000_000), Fault::Fast);
    check_replaced::<3>(|chosen| chosen.jump(-100_000_000), Fault::Slow);
}

/// The watchdog finds these faults without a third source.
#[test]
fn a_clock_that_is_bad_in_itself_is_replaced() {
    for (inject, fault) in [
        ((|chosen| chosen.set_stopped(true)) as fn(&Counter<'_>), Fault::Stopped),
        (|chosen| chosen.jump(-1_000_000_000), Fault::Backwards),
        (|chosen| chosen.dead.set(true), Fault::Unreadable),
    ] {
        check_replaced::<2>(inject, fault);
        check_replaced::<3>(inject, fault);
    }
}

#[test]
fn a_clock_that_stands_still_from_the_first_check_on_is_replaced() {
    let watched = Watched::<2>::new(|_, counters| counters[0].set_stopped(true));
    assert_eq!(watched.check(0), Finding::Begun);
    assert_eq!(watched.check_after(HALF), demoted(Fault::Stopped));
}

/// Two sources differ, and neither of them is known to gain or lose time. The watchdog cannot decide which of them is wrong.
#[test]
fn two_sources_that_differ_are_in_doubt() {
    let undecided = |ahead| Finding::Undecided { ahead, behind: 1 - ahead };
    for (source, ticks, ahead) in
        [(0, 349_613_782, 0), (0, -100_000_000, 1), (1, 9_375_000, 1), (1, -3_000_000, 0)]
    {
        let watched = Watched::<2>::begun(|_| {});
        watched.counters[source].jump(ticks);
        assert_eq!(watched.check_after(HALF), undecided(ahead));
        // From now on, the two sources advance together.
        assert_eq!(watched.check_after(HALF), Finding::Agrees);
        assert_eq!(watched.keeper.chosen(), 0);
    }
    let watched = Watched::<2>::begun(|_| {});
    watched.counters[1].set_drift(-1_000_000);
    for _ in 0..10 {
        assert_eq!(watched.check_after(HALF), undecided(0));
    }
}

/// A source that is known to lose time, but not to gain time, is wrong if it is behind, and right if it is ahead.
#[test]
fn what_a_source_can_do_wrong_decides() {
    let agrees = Finding::Agrees;
    let undecided = Finding::Undecided { ahead: 0, behind: 1 };
    for (can_lose, can_gain, ticks, found) in [
        ([false, true], [false, false], -1_000_000, bad_reference(Fault::Slow)),
        ([false, true], [false, false], 1_000_000, Finding::Undecided { ahead: 1, behind: 0 }),
        ([true, false], [false, false], 1_000_000, demoted(Fault::Slow)),
        ([false, false], [false, true], 1_000_000, bad_reference(Fault::Fast)),
        ([false, false], [true, false], -1_000_000, demoted(Fault::Fast)),
        ([false, true], [true, false], -1_000_000, undecided),
        ([true, true], [true, true], -1_000_000, undecided),
        ([true, true], [false, false], -1_000_000, bad_reference(Fault::Slow)),
        ([true, true], [false, false], 1_000_000, demoted(Fault::Slow)),
        ([true, true], [false, false], 1_000, agrees),
    ] {
        let watched = Watched::<2>::begun(|counters| {
            for (source, counter) in counters.iter().enumerate() {
                counter.describe_as(|description| {
                    description.hazards.may_lose = can_lose[source];
                    description.hazards.may_gain = can_gain[source];
                });
            }
        });
        watched.counters[1].jump(ticks);
        assert_eq!(watched.check_after(HALF), found, "{can_lose:?} {can_gain:?} {ticks}");
    }
}

/// All three sources differ. Source 1 is behind and is known to lose time. Source 2 is ahead and is known to gain time. Both are therefore
/// wrong.
#[test]
fn of_three_sources_that_differ_those_are_wrong_that_can_be() {
    let watched = Watched::<3>::begun(|counters| {
        counters[1].describe_as(|description| description.hazards.may_lose = true);
        counters[2].describe_as(|description| description.hazards.may_gain = true);
    });
    watched.counters[1].jump(-156_250);
    watched.counters[2].jump(5_000_000);
    assert_eq!(watched.check_after(HALF), bad_reference(Fault::Slow));
    assert_eq!(watched.check(0), Finding::Demoted { source: 2, fault: Fault::Fast, chosen: 0 });
}

#[test]
fn a_source_that_has_been_right_for_a_minute_is_trusted_again() {
    for (scope, trust) in [(Scope::Machine, Trust::Full), (Scope::Strand, Trust::Witness)] {
        let watched =
            Watched::<3>::begun(|counters| counters[0].describe_as(|of| of.scope = scope));
        watched.counters[0].jump(1_000_000_000);
        assert_eq!(watched.check_after(HALF), demoted(Fault::Fast));
        for _ in 0..119 {
            assert_eq!(watched.check_after(HALF), Finding::Agrees);
        }
        // Source 0 is wrong again, so its minute of probation restarts.
        watched.counters[0].jump(1_000_000_000);
        for _ in 0..120 {
            assert_eq!(watched.check_after(HALF), Finding::Agrees);
            assert_eq!(watched.keeper.verdict(0).unwrap().1, Trust::None);
        }
        watched.world.pass(MILLISECOND);
        assert_eq!(watched.check_after(HALF), Finding::Restored { source: 0 });
        assert_eq!(watched.keeper.verdict(0).unwrap().1, trust);
        assert_eq!(watched.keeper.chosen(), 1);
        // Source 2 replaces source 1, unless source 0 is fully trusted.
        watched.counters[1].set_stopped(true);
        let chosen = if trust == Trust::Full { 0 } else { 2 };
        let found = Finding::Demoted { source: 1, fault: Fault::Stopped, chosen };
        assert_eq!(watched.check_after(HALF), found);
    }
}

/// Source 0 was bad and is retired, but still runs. When source 1, the only trusted source, stops, source 0 replaces it.
#[test]
fn a_source_that_runs_replaces_the_last_one() {
    let watched = Watched::<2>::begun(|_| {});
    watched.counters[0].jump(-1_000_000_000);
    assert_eq!(watched.check_after(HALF), demoted(Fault::Backwards));
    assert_eq!(watched.check(0), Finding::NoReference);
    watched.counters[1].set_stopped(true);
    assert_eq!(
        watched.check_after(HALF),
        Finding::Demoted { source: 1, fault: Fault::Stopped, chosen: 0 }
    );
    assert!(watched.keeper.time(strand(0)).unwrap().abs_diff(2 * HALF) < 5 * MICROSECOND);
    // Now all sources have stopped.
    watched.counters[0].set_stopped(true);
    assert_eq!(watched.check_after(HALF), Finding::NoReference);
    watched.counters[0].dead.set(true);
    watched.counters[1].dead.set(true);
    assert_eq!(watched.check_after(HALF), Finding::Skipped(Skipped::CannotDemote));
}

#[test]
fn a_source_that_is_slow_to_read_condemns_none() {
    let watched = Watched::<2>::begun(|_| {});
    // On a congested bus, a read takes 1 to 10 ms.
    for slow in 1..=10 {
        watched.counters[1].cost.set(slow * MILLISECOND);
        assert_eq!(watched.check_after(HALF), Finding::Skipped(Skipped::Slow));
    }
    watched.counters[1].cost.set(500);
    // The slow checks were inconclusive, so this check compares its counts with the counts of the check before them.
    assert_eq!(watched.check(0), Finding::Agrees);
    // A difference that is larger than the uncertainty is found immediately.
    watched.counters[1].cost.set(MILLISECOND);
    watched.counters[0].jump(100_000_000);
    assert_eq!(watched.check(0), Finding::Undecided { ahead: 0, behind: 1 });
}

#[test]
fn an_interruption_condemns_no_source() {
    let watched = Watched::<2>::begun(|_| {});
    watched.world.pass(HALF);
    watched.counters[0].cost.set(MILLISECOND);
    assert_eq!(watched.check(0), Finding::Skipped(Skipped::Slow));
    watched.counters[0].cost.set(20);
    assert_eq!(watched.check(0), Finding::Agrees);
}

#[test]
fn the_third_source_detects_a_bad_reference() {
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
        assert_eq!(watched.check_after(HALF), Finding::Agrees);
    }
}

/// The sources are read tens of milliseconds apart. The watchdog must not mistake this delay for a source's error.
#[test]
fn a_third_source_that_is_slow_to_read_can_decide() {
    let watched = Watched::<3>::begun(|_| {});
    watched.counters[1].set_drift(500_000_000);
    watched.counters[2].cost.set(20 * MILLISECOND);
    assert_eq!(watched.check_after(HALF), bad_reference(Fault::Fast));
}

#[test]
fn if_all_sources_differ_nothing_decides() {
    let watched = Watched::<3>::begun(|_| {});
    watched.counters[0].set_drift(5_000_000);
    watched.counters[1].set_drift(-5_000_000);
    assert_eq!(watched.check_after(HALF), Finding::Undecided { ahead: 0, behind: 1 });
}

/// Source 1 advances once per second, so it stands still between most checks. This is not a fault.
#[test]
fn a_reference_between_two_steps_is_not_a_stopped_one() {
    let watched = Watched::<2>::begun(|counters| {
        counters[1].describe_as(|description| description.step = 31_250_000);
    });
    for _ in 0..50 {
        assert_eq!(watched.check_after(100 * MILLISECOND), Finding::Agrees);
    }
    // Source 1 stops. A check 1.5 s later is undecided: the source has missed a step, but may only be slow. At the next check, the source
    // still has not advanced, which proves that it has stopped.
    watched.counters[1].set_stopped(true);
    let found: Vec<Finding> = (0..40).map(|_| watched.check_after(SECOND + HALF)).take(2).collect();
    assert_eq!(found, [Finding::Undecided { ahead: 0, behind: 1 }, bad_reference(Fault::Stopped)]);
}

/// Source 1 advances once per second, and agrees with source 2. The retired source 0 jumps ahead, which must not make source 1
/// look stopped.
#[test]
fn a_retired_source_does_not_show_that_another_stands_still() {
    let watched = Watched::<3>::begun(|counters| {
        counters[1].describe_as(|description| description.step = 31_250_000);
    });
    watched.counters[0].jump(3_000_000_000);
    let retired = Finding::Demoted { source: 0, fault: Fault::Fast, chosen: 1 };
    assert_eq!(watched.check_after(100 * MILLISECOND), retired);
    for _ in 0..20 {
        assert_eq!(watched.check_after(30 * MILLISECOND), Finding::Agrees);
        watched.counters[0].jump(3_000_000_000);
        assert_eq!(watched.check_after(30 * MILLISECOND), Finding::Agrees);
    }
}

/// Two trusted sources differ forever, and nothing decides between them. After a retired third source has agreed with one of the two for a
/// minute, it is trusted again and decides.
#[test]
fn a_source_that_is_right_again_decides_between_two() {
    for wrong in [0, 2] {
        let watched = Watched::<3>::begun(|_| {});
        watched.counters[1].jump(31_250_000);
        assert_eq!(watched.check_after(HALF), bad_reference(Fault::Fast));
        watched.counters[wrong].set_drift(2_000_000);
        let found: Vec<Finding> = (0..122).map(|_| watched.check_after(HALF)).collect();
        assert_eq!(found[0], Finding::Undecided { ahead: wrong, behind: 2 - wrong });
        assert!(found.contains(&Finding::Restored { source: 1 }), "{found:?}");
        let chosen = if wrong == 0 { 1 } else { 0 };
        let decided = Finding::Demoted { source: wrong, fault: Fault::Fast, chosen };
        assert!(found.contains(&decided), "{found:?}");
    }
}

/// A read of source 1 takes 3 us. The chosen source gains or loses 5 us per 10 ms period, which is less than the uncertainty of the reads.
#[test]
fn a_drift_that_one_period_does_not_show_is_found() {
    for (drift, fault) in [(500_000, Fault::Fast), (-500_000, Fault::Slow)] {
        let watched = Watched::<3>::new(|world, counters| {
            world.pass(SECOND);
            counters[1].cost.set(3 * MICROSECOND);
        });
        let begun = watched.world.now();
        let limits = Limits { tolerance: 200, bracket: 100_000, tries: 3, probation: 10 * SECOND };
        *watched.watchdog.borrow_mut() = Watchdog::new(limits);
        assert_eq!(watched.check(0), Finding::Begun);
        watched.counters[0].set_drift(drift);
        let found: Vec<Finding> =
            (0..1500).map(|_| watched.check_after(10 * MILLISECOND)).collect();
        let agreed = found.iter().take_while(|found| **found == Finding::Agrees).count();
        assert!(agreed < 20, "{agreed}");
        assert_eq!(found[agreed], demoted(fault));
        // The drifting source is not trusted again.
        assert!(found[agreed + 1..].iter().all(|found| *found == Finding::Agrees), "{found:?}");
        let off = watched.keeper.time(strand(0)).unwrap().abs_diff(watched.world.now() - begun);
        assert!(off < 30 * MICROSECOND, "{off}");
    }
}

/// Source 2 is found wrong while the time is an hour ahead. Its one-minute probation begins when the time is right again.
#[test]
fn an_hour_that_did_not_pass_does_not_lengthen_a_probation() {
    let watched = Watched::<3>::begun(|counters| {
        counters[0].describe_as(|description| description.hazards.may_gain = true);
    });
    watched.counters[0].jump(3600 * 1_165_379_275);
    watched.counters[2].set_stopped(true);
    let found = [watched.check_after(HALF), watched.check(0)];
    assert_eq!(found[0], Finding::Demoted { source: 2, fault: Fault::Stopped, chosen: 0 });
    assert_eq!(found[1], demoted(Fault::Fast));
    watched.counters[2].set_stopped(false);
    let found: Vec<Finding> = (0..125).map(|_| watched.check_after(HALF)).collect();
    assert!(found.contains(&Finding::Restored { source: 2 }), "{found:?}");
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
    let watched = Watched::<3>::begun(|counters| counters[0].apart.set([0, 5_000_000, 0]));
    watched.world.pass(HALF);
    assert_eq!(watched.check(1), demoted(Fault::Fast));
}

#[test]
fn a_single_source_is_not_checked() {
    let watched = Watched::<1>::new(|_, _| {});
    assert_eq!(watched.check(0), Finding::Begun);
    assert_eq!(watched.check_after(HALF), Finding::NoReference);
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
            let watched = Watched::<3>::begun(|counters| {
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
