//! Tests which source is chosen, and what time it gives.

use guest_abi::clock::{Clock, Scope};
use hv_core::time::{
    Candidate, NoUsableClock, OperatorSetting, Reason, Timekeeper, Trust, Verdict,
};
use proptest::prelude::*;

use crate::world::{Counter, ENVIRONMENT, SECOND, World, keeper, strand};

#[test]
fn the_best_safe_and_readable_source_is_chosen() {
    let world = World::default();
    let counter = |rating| Counter::new(&world, 63, SECOND, rating);
    let (low, high, dead, unsafe_one) = (counter(1), counter(2), counter(9), counter(8));
    dead.dead.set(true);
    unsafe_one.describe_as(|description| description.scope = Scope::StrandUnsynchronised);
    let list = |operator| {
        let mut list = [&low, &high, &dead, &unsafe_one].map(Candidate::new);
        list[3].operator = operator;
        list
    };
    let keeper = Timekeeper::new(list(OperatorSetting::Default), &ENVIRONMENT, strand(0)).unwrap();
    assert_eq!(keeper.chosen(), 1);
    assert_eq!(keeper.verdict(0), Some((Verdict::Safe, Trust::Full)));
    assert_eq!(keeper.verdict(2), None, "cannot be read");
    assert_eq!(keeper.verdict(3), None, "not safe");
    let keeper = Timekeeper::new(list(OperatorSetting::Force), &ENVIRONMENT, strand(0)).unwrap();
    assert_eq!(keeper.chosen(), 3);
    assert_eq!(keeper.verdict(3), Some((Verdict::Forced(Reason::Unsynchronised(3)), Trust::Full)));

    let absent = Candidate::<&Counter> { source: None, operator: OperatorSetting::Force };
    let none = Timekeeper::new([absent, Candidate::new(&dead)], &ENVIRONMENT, strand(0));
    assert_eq!(none.err(), Some(NoUsableClock));
    let none = Timekeeper::<&Counter, 0>::new([], &ENVIRONMENT, strand(0));
    assert_eq!(none.err(), Some(NoUsableClock));
}

#[test]
fn a_source_that_cannot_be_read_makes_the_time_stand_still() {
    let world = World::default();
    let counter = Counter::costless(&world, 63, SECOND);
    let keeper = keeper([&counter]);
    let clock = keeper.clock(strand(0));
    world.pass(7);
    assert_eq!(clock.ticks(), 7);
    counter.dead.set(true);
    world.pass(7);
    assert_eq!(keeper.time(strand(0)), None);
    assert_eq!(clock.ticks(), 7);
    counter.dead.set(false);
    assert_eq!(clock.ticks(), 14);
}

#[test]
fn a_strand_that_is_behind_starts_at_zero() {
    let world = World::default();
    let counter = Counter::costless(&world, 63, SECOND);
    counter.apart.set([0, -5, 0]);
    world.pass(9);
    let keeper = keeper([&counter]);
    let clock = keeper.clock(strand(1));
    for (passes, shown) in [(0, 0), (4, 0), (2, 1)] {
        world.pass(passes);
        assert_eq!(clock.ticks(), shown);
    }
}

#[test]
fn a_counter_that_wraps_in_73_years_keeps_time_for_100() {
    let world = World::default();
    let counter = Counter::costless(&world, 56, 31_250_000);
    counter.set((1 << 56) - 5);
    let keeper = keeper([&counter]);
    let clock = keeper.clock(strand(0));
    assert!(keeper.max_poll_interval() >= 18 * 365 * 86_400 * SECOND);
    for year in 1..=100 {
        world.pass(365 * 86_400 * SECOND);
        assert_eq!(clock.ticks(), year * 365 * 86_400 * SECOND);
    }
}

#[test]
fn polls_catch_the_wraps_of_a_counter_that_nobody_reads() {
    let world = World::default();
    let counter = Counter::new(&world, 24, 3_579_545, 1);
    let keeper = keeper([&counter]);
    let clock = keeper.clock(strand(0));
    let poll = keeper.max_poll_interval() - 100;
    for _ in 0..1000 {
        world.pass(poll);
        keeper.poll(strand(0));
    }
    assert!(clock.ticks().abs_diff(world.now()) < 300);
    // Nobody polls for 5 s, so a wrap goes unnoticed and the time is wrong.
    world.pass(5 * SECOND);
    assert!(clock.ticks() + SECOND < world.now());
}

proptest! {
    #[test]
    fn any_counter_keeps_the_true_time(
        width in 24..=64_u8,
        (hz, bits) in (1_u64..=10_000_000_000, 0..34_u32),
        start: u64,
        steps in prop::collection::vec((any::<u64>(), any::<u64>()), 1..60),
    ) {
        let hz = (hz >> bits).max(1);
        let world = World::default();
        let counter = Counter::costless(&world, width, hz);
        counter.set(start);
        let environment = hv_core::time::Environment { poll_interval: 0, ..ENVIRONMENT };
        let keeper = Timekeeper::new([Candidate::new(&counter)], &environment, strand(0)).unwrap();
        let clock = keeper.clock(strand(0));
        // Ends after a hundred years, or when the count exceeds 63 bits.
        let end = (u128::from(u64::MAX / 2) * 1_000_000_000 / u128::from(hz)).min(3_155_760_000_000_000_000);
        for (step, beyond) in steps {
            world.pass(step % keeper.max_poll_interval().min(end as u64 / 50));
            if u128::from(world.now()) > end {
                break;
            }
            // Sets the bits above the count, such as the NPT bit.
            counter.beyond.set(beyond);
            let time = clock.ticks();
            // The time can be off by one partial tick at the beginning, and by another partial tick now.
            prop_assert!(time.abs_diff(world.now()) <= 2 + 1_000_000_000 / hz, "{} {}", time, world.now());
        }
    }
}
