//! The watchdog: what it finds, and what it does about it.

use guest_abi::clock::Clock;
use hv_core::time::{Candidate, Fault, Finding, Limits, Skipped, Timekeeper, Watchdog};
use proptest::prelude::*;

use crate::world::{Counter, MACHINE, MICROSECOND, MILLISECOND, SECOND, World, keeper, strand};

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

fn watchdog() -> Watchdog {
    Watchdog::new(Limits::default())
}

const fn skipped(why: Skipped) -> Finding {
    Finding::Skipped(why)
}

#[test]
fn good_clocks_agree() {
    let world = World::default();
    let counters = counters::<3>(&world);
    counters[0].set_drift(100_000);
    counters[1].set_drift(-100_000);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
    for check in 0..1000 {
        world.pass(HALF);
        assert_eq!(watchdog.check(&keeper, strand(check % 3)), Finding::Agrees);
    }
    // 500 s with 100 parts of a million too much: nothing has been steered.
    let time = keeper.time(strand(0)).unwrap();
    assert!((time - world.now()).abs_diff(world.now() / 10_000) < MICROSECOND);
}

/// Two checks, something that happens to the chosen source and half a second between them, and what the second one finds;
/// with two sources, and with three.
fn finds(happens: impl Fn(&Counter<'_>), fault: Fault) {
    fn case<const N: usize>(happens: &dyn Fn(&Counter<'_>), fault: Fault) {
        let world = World::default();
        let counters = counters::<N>(&world);
        world.pass(SECOND);
        let keeper = keeper(counters.each_ref());
        let begun = world.now();
        let clock = keeper.clock(strand(0));
        let mut watchdog = watchdog();
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
        happens(&counters[0]);
        world.pass(HALF);
        let before = clock.ticks();
        let found = watchdog.check(&keeper, strand(0));
        assert_eq!(
            found,
            Finding::Demoted {
                source: 0,
                fault,
                chosen: 1
            }
        );
        assert_eq!(keeper.chosen(), 1);
        let after = clock.ticks();
        let passed = world.now() - begun;
        assert!(after >= before, "a step back");
        // What the chosen source had not counted is made up for.
        assert!(after + 2 * MICROSECOND >= passed, "{after} after {passed}");
        // And from now on the clock is right.
        world.pass(SECOND);
        assert!((clock.ticks() - after).abs_diff(SECOND) < MICROSECOND);
        if N == 3 {
            assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
            world.pass(HALF);
            assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
        } else {
            assert_eq!(watchdog.check(&keeper, strand(0)), Finding::NoReference);
        }
    }
    case::<2>(&happens, fault);
    case::<3>(&happens, fault);
}

#[test]
fn a_bad_clock_is_replaced_without_a_step_back() {
    finds(|chosen| chosen.set_drift(1_000_000), Fault::Fast);
    finds(|chosen| chosen.set_drift(-1_000_000), Fault::Slow);
    finds(|chosen| chosen.set_drift(500_000_000), Fault::Fast);
    finds(|chosen| chosen.set_stopped(true), Fault::Stopped);
    finds(|chosen| chosen.jump(3_000_000_000), Fault::Fast);
    finds(|chosen| chosen.jump(-100_000_000), Fault::Slow);
    finds(|chosen| chosen.jump(-1_000_000_000), Fault::Backwards);
    finds(|chosen| chosen.dead.set(true), Fault::Unreadable);
}

#[test]
fn a_clock_that_stood_still_from_the_first_check_on_has_stopped() {
    let world = World::default();
    let counters = counters::<2>(&world);
    world.pass(SECOND);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    counters[0].set_stopped(true);
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
    world.pass(HALF);
    let stopped = Finding::Demoted {
        source: 0,
        fault: Fault::Stopped,
        chosen: 1,
    };
    assert_eq!(watchdog.check(&keeper, strand(0)), stopped);
}

#[test]
fn a_slow_reference_is_no_bad_clock() {
    let world = World::default();
    let counters = counters::<2>(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    // A bus that is held up: each read of the reference takes from 1 to 10 ms.
    for slow in 1..=10 {
        counters[1].cost.set(slow * MILLISECOND);
        world.pass(HALF);
        assert_eq!(
            watchdog.check(&keeper, strand(0)),
            skipped(Skipped::SlowReference)
        );
    }
    assert_eq!(keeper.chosen(), 0);
    counters[1].cost.set(500);
    assert_eq!(
        watchdog.check(&keeper, strand(0)),
        Finding::Agrees,
        "with the check before"
    );
    // And what is wrong meanwhile is found later.
    counters[1].cost.set(MILLISECOND);
    counters[0].jump(100_000_000);
    assert_eq!(
        watchdog.check(&keeper, strand(0)),
        skipped(Skipped::SlowReference)
    );
    counters[1].cost.set(500);
    let demoted = Finding::Demoted {
        source: 0,
        fault: Fault::Fast,
        chosen: 1,
    };
    assert_eq!(watchdog.check(&keeper, strand(0)), demoted);
}

#[test]
fn what_comes_between_is_no_bad_clock() {
    let world = World::default();
    let counters = counters::<2>(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    world.pass(HALF);
    counters[0].cost.set(MILLISECOND);
    assert_eq!(
        watchdog.check(&keeper, strand(0)),
        skipped(Skipped::Disturbed)
    );
    counters[0].cost.set(20);
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
}

#[test]
fn a_bad_reference_is_told_by_the_judge() {
    for (happens, fault) in [
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
        let keeper = keeper(counters.each_ref());
        let mut watchdog = watchdog();
        watchdog.check(&keeper, strand(0));
        happens(&counters[1]);
        world.pass(HALF);
        let found = watchdog.check(&keeper, strand(0));
        assert_eq!(found, Finding::BadReference { source: 1, fault });
        assert_eq!(keeper.chosen(), 0);
        // The judge is the reference now.
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
        world.pass(HALF);
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
    }
}

/// It is read 10 ms after the chosen source, which counts for neither.
#[test]
fn a_judge_that_is_slow_to_read_can_tell() {
    let world = World::default();
    let counters = counters::<3>(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    counters[1].set_drift(500_000_000);
    counters[2].cost.set(20 * MILLISECOND);
    world.pass(HALF);
    let fault = Fault::Fast;
    assert_eq!(
        watchdog.check(&keeper, strand(0)),
        Finding::BadReference { source: 1, fault }
    );
}

#[test]
fn a_judge_that_cannot_tell_acquits_nobody() {
    let world = World::default();
    let counters = counters::<3>(&world);
    // It goes on by 10 ms at once: 1 ms in half a second is within that.
    counters[2].describe_as(|description| description.step = 10_000_000);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    counters[0].set_drift(2_000_000);
    world.pass(HALF);
    let found = watchdog.check(&keeper, strand(0));
    let fault = Fault::Fast;
    assert_eq!(
        found,
        Finding::Demoted {
            source: 0,
            fault,
            chosen: 1
        }
    );
}

#[test]
fn if_all_differ_the_chosen_one_goes() {
    let world = World::default();
    let counters = counters::<3>(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    counters[0].set_drift(5_000_000);
    counters[1].set_drift(-5_000_000);
    world.pass(HALF);
    let found = watchdog.check(&keeper, strand(0));
    let fault = Fault::Fast;
    assert_eq!(
        found,
        Finding::Demoted {
            source: 0,
            fault,
            chosen: 1
        }
    );
}

#[test]
fn a_reference_that_stands_still_goes_after_a_while() {
    let world = World::default();
    let counters = counters::<2>(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    // In the middle between two checks, so that it went on since the last one.
    world.pass(HALF / 2);
    counters[1].set_stopped(true);
    for _ in 0..15 {
        world.pass(HALF);
        assert_eq!(
            watchdog.check(&keeper, strand(0)),
            skipped(Skipped::ReferenceStill)
        );
    }
    world.pass(HALF);
    let stopped = Finding::BadReference {
        source: 1,
        fault: Fault::Stopped,
    };
    assert_eq!(watchdog.check(&keeper, strand(0)), stopped);
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::NoReference);
    assert_eq!(keeper.chosen(), 0);
}

#[test]
fn a_coarse_reference_is_too_early_but_not_still() {
    let world = World::default();
    let counters = counters::<2>(&world);
    counters[1].describe_as(|description| description.step = 31_250_000);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    // A jump of ten seconds, seen first while the reference has not gone on.
    counters[0].jump(11_653_792_750);
    for _ in 0..5 {
        assert_eq!(
            watchdog.check(&keeper, strand(0)),
            skipped(Skipped::ReferenceStill)
        );
        world.pass(100 * MILLISECOND);
    }
    world.pass(SECOND);
    let fault = Fault::Fast;
    let found = watchdog.check(&keeper, strand(0));
    assert_eq!(
        found,
        Finding::Demoted {
            source: 0,
            fault,
            chosen: 1
        }
    );
}

#[test]
fn a_coarse_source_is_not_bad_for_it() {
    for coarse in 0..2 {
        let world = World::default();
        let counters = counters::<2>(&world);
        // Some 10 ms.
        counters[coarse].describe_as(|description| description.step = description.hz / 100);
        let keeper = keeper(counters.each_ref());
        let mut watchdog = watchdog();
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
        for check in 1..200 {
            world.pass(check * MILLISECOND / 3);
            assert_eq!(
                watchdog.check(&keeper, strand(0)),
                Finding::Agrees,
                "{check}"
            );
        }
    }
}

#[test]
fn counters_of_strands_that_are_apart_are_found() {
    let world = World::default();
    let counters = counters::<2>(&world);
    counters[0].apart.set([0, 5_000_000, 0]);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    watchdog.check(&keeper, strand(0));
    world.pass(HALF);
    let fault = Fault::Fast;
    let found = watchdog.check(&keeper, strand(1));
    assert_eq!(
        found,
        Finding::Demoted {
            source: 0,
            fault,
            chosen: 1
        }
    );
}

#[test]
fn a_source_alone_is_not_checked() {
    let world = World::default();
    let counters = counters::<1>(&world);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = watchdog();
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::NoReference);
}

proptest! {
    #[test]
    fn below_the_tolerance_never_and_beyond_it_always(
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
            let keeper = keeper(counters.each_ref());
            let mut watchdog = watchdog();
            watchdog.check(&keeper, strand(0));
            counters[0].set_drift(sign * parts * 1000);
            for pause in &pauses {
                world.pass(*pause);
                let found = watchdog.check(&keeper, strand(0));
                if bad {
                    let fault = if sign > 0 { Fault::Fast } else { Fault::Slow };
                    prop_assert_eq!(found, Finding::Demoted { source: 0, fault, chosen: 1 });
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
        let sources = counters.each_ref().map(Candidate::new);
        let keeper = Timekeeper::new(sources, &MACHINE, strand(0)).unwrap();
        let mut watchdog = watchdog();
        for (chosen, reference, pause) in costs {
            counters[0].cost.set(chosen);
            counters[1].cost.set(reference);
            world.pass(pause);
            let found = watchdog.check(&keeper, strand(0));
            prop_assert!(
                matches!(found, Finding::Begun | Finding::Agrees | Finding::Skipped(_)),
                "{:?}", found
            );
        }
        prop_assert_eq!(keeper.chosen(), 0);
    }
}
