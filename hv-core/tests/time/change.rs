//! Tests changes of the time source, and sources with arbitrary faults.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use guest_abi::StrandId;
use guest_abi::clock::{Clock, ClockSource, Description};
use hv_core::time::{
    Candidate, Fault, Finding, Limits, NoUsableClock, Timekeeper, Trust, Watchdog,
};
use proptest::prelude::*;

use crate::world::{Counter, ENVIRONMENT, SECOND, World, description, keeper, strand};

#[test]
fn the_time_is_continuous_across_changes_of_source() {
    let world = World::default();
    let first = Counter::new(&world, 63, 1_165_379_275, 3);
    let second = Counter::new(&world, 24, 3_579_545, 2);
    let third = Counter::new(&world, 63, SECOND, 1);
    for counter in [&first, &second, &third] {
        counter.cost.set(0);
    }
    second.set(1 << 23);
    third.set(u64::MAX >> 1);
    let keeper = keeper([&first, &second, &third]);
    let clock = keeper.clock(strand(1));
    let near = |time: u64| assert!(time.abs_diff(world.now()) <= 600, "{time} at {}", world.now());
    world.pass(SECOND);
    near(clock.ticks());
    assert_eq!(keeper.demote(2, strand(0)), Ok(0), "not the chosen one");
    assert_eq!(keeper.demote(0, strand(0)), Ok(1));
    near(clock.ticks());
    world.pass(SECOND);
    near(clock.ticks());
    assert_eq!(keeper.demote(1, strand(0)), Err(NoUsableClock), "the last source");
    assert_eq!(keeper.demote(7, strand(0)), Err(NoUsableClock), "no such source");
    assert_eq!(keeper.demote(0, strand(0)), Err(NoUsableClock), "retired already");
    world.pass(SECOND);
    near(clock.ticks());
}

#[test]
fn no_strand_sees_a_step_back() {
    let world = World::default();
    let fast = Counter::new(&world, 63, SECOND, 2);
    let right = Counter::new(&world, 63, SECOND, 1);
    // The first counter is a second ahead on strand 2 and a second behind on strand 1.
    fast.apart.set([0, -(SECOND as i64), SECOND as i64]);
    world.pass(10 * SECOND);
    let keeper = keeper([&fast, &right]);
    let clocks = [0, 1, 2].map(|number| keeper.clock(strand(number)));
    world.pass(3 * SECOND);
    let near = |time: u64, shown: u64| assert!(time.abs_diff(shown) < 1000, "{time}");
    near(clocks[1].ticks(), 2 * SECOND);
    near(clocks[0].ticks(), 3 * SECOND);
    near(clocks[1].ticks(), 3 * SECOND);
    near(clocks[2].ticks(), 4 * SECOND);
    keeper.demote(0, strand(0)).unwrap();
    // The clocks of all strands stand still until the timekeeper's time reaches the time that strand 2 has shown.
    world.pass(SECOND / 2);
    clocks.iter().for_each(|clock| near(clock.ticks(), 4 * SECOND));
    near(keeper.time(strand(1)).unwrap(), 3 * SECOND + SECOND / 2);
    world.pass(SECOND);
    clocks.iter().for_each(|clock| near(clock.ticks(), 4 * SECOND + SECOND / 2));
}

/// The sources change more times than the timekeeper has epochs.
#[test]
fn sources_change_any_number_of_times() {
    let world = World::default();
    let counters = [2, 1].map(|rating| Counter::new(&world, 63, SECOND, rating));
    let keeper = keeper(counters.each_ref());
    let mut watchdog = Watchdog::new(Limits { probation: 2 * SECOND, ..Limits::default() });
    watchdog.check(&keeper, strand(0));
    for change in 0..100 {
        let source = change % 2;
        counters[source].set_stopped(true);
        world.pass(SECOND);
        let demoted = Finding::Demoted { source, fault: Fault::Stopped, chosen: 1 - source };
        assert_eq!(watchdog.check(&keeper, strand(0)), demoted, "{change}");
        counters[source].set_stopped(false);
        let found: Vec<Finding> = (0..4)
            .map(|_| {
                world.pass(SECOND);
                watchdog.check(&keeper, strand(0))
            })
            .collect();
        assert!(found.contains(&Finding::Restored { source }), "{change}: {found:?}");
        assert!(keeper.time(strand(0)).unwrap().abs_diff(world.now()) < 100_000, "{change}");
    }
}

/// An action that another strand takes during the next read of a counter; `None` for no action.
type Other = Rc<Cell<Option<Box<dyn FnOnce()>>>>;

/// A counter. If the cell holds an action, another strand takes it during the next read.
struct Interrupted(&'static Counter<'static>, Other);

impl ClockSource for Interrupted {
    fn describe(&self) -> Description {
        self.0.describe()
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        let count = self.0.read(strand);
        if let Some(act) = self.1.take() {
            act();
        }
        count
    }
}

/// Returns a timekeeper with counters that show very different counts. The best counter comes first. The timekeeper, the counters and the
/// world are leaked, so that the other strand's action can use them.
fn interrupted<const N: usize>() -> (&'static World, Other, &'static Timekeeper<Interrupted, N>) {
    let world: &World = Box::leak(Box::default());
    let other = Other::default();
    let candidates = std::array::from_fn(|number| {
        let counter = Counter::new(world, 63, SECOND, (N - number) as u16);
        counter.set((N - number) as u64 * 1000 * SECOND);
        Candidate::new(Interrupted(Box::leak(Box::new(counter)), Rc::clone(&other)))
    });
    let keeper = Timekeeper::new(candidates, &ENVIRONMENT, strand(0)).unwrap();
    (world, other, Box::leak(Box::new(keeper)))
}

/// One strand reads the time while another changes the source. The reader uses one source during the whole call.
#[test]
fn a_change_does_not_disturb_a_reader() {
    let (world, other, keeper) = interrupted::<2>();
    world.pass(SECOND);
    other.set(Some(Box::new(|| assert_eq!(keeper.demote(0, strand(1)), Ok(1)))));
    for chosen in [0, 1] {
        assert_eq!(keeper.chosen(), chosen);
        let time = keeper.time(strand(0)).unwrap();
        assert!(time.abs_diff(SECOND) < 1000, "{time}");
    }
}

/// While one strand reads the time, another changes the source so often that the reader's epoch is overwritten. The reader then reads
/// again.
#[test]
fn a_reader_whose_epoch_is_overwritten_reads_again() {
    let (world, other, keeper) = interrupted::<3>();
    let mut watchdog = Watchdog::new(Limits { probation: 0, ..Limits::default() });
    other.set(Some(Box::new(move || {
        watchdog.check(keeper, strand(1));
        // The timekeeper keeps eight epochs. The epoch in use by the reader has source 0.
        for chosen in [1, 2, 0, 1, 2, 0, 1, 2] {
            assert_eq!(keeper.demote(keeper.chosen(), strand(1)), Ok(chosen));
            // The watchdog restores the retired sources after each change, except after a change to source 1: source 0 then stays retired,
            // so the next change is to source 2.
            let is_restored = |found| matches!(found, Finding::Restored { .. });
            while chosen != 1 && is_restored(watchdog.check(keeper, strand(1))) {}
        }
    })));
    world.pass(SECOND);
    let time = keeper.time(strand(0)).unwrap();
    assert!(time.abs_diff(SECOND) < 100_000, "{time}");
    assert_eq!(keeper.chosen(), 2);
}

/// A strand dies while it replaces a source. No other strand can replace a source until the death is reported.
#[test]
fn a_strand_that_dies_in_a_change_keeps_no_other_from_one() {
    let (_, other, keeper) = interrupted::<2>();
    other.set(Some(Box::new(|| {
        assert_eq!(keeper.demote(0, strand(2)), Err(NoUsableClock));
        keeper.abandon(strand(0));
        assert_eq!(keeper.demote(0, strand(2)), Err(NoUsableClock), "another strand changes it");
        keeper.abandon(strand(1));
        assert_eq!(keeper.verdict(0).unwrap().1, Trust::Witness, "it is still the chosen one");
        assert_eq!(keeper.demote(0, strand(2)), Ok(1));
    })));
    let _ = keeper.demote(0, strand(1));
    assert!(other.take().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_fault_makes_a_clock_go_back(
        acts in prop::collection::vec((0..24_u32, 0..4_usize, any::<u64>(), 0..64_u32), 1..150),
    ) {
        let world = World::default();
        let counters = [(63, 1_165_379_275, 1), (24, 3_579_545, 2), (56, 31_250_000, 3), (64, 10_000_000_000, 4)]
            .map(|(width, hz, rating)| Counter::new(&world, width, hz, rating));
        let keeper = keeper(counters.each_ref());
        let clocks = [0, 1, 2].map(|number| keeper.clock(strand(number)));
        let mut watchdog = Watchdog::new(Limits::default());
        let mut last = [0; 3];
        for (act, source, value, bits) in acts {
            let (counter, on) = (&counters[source], source % 3);
            match act {
                0..5 => world.pass((value >> (24 + bits % 40)) % (3600 * SECOND)),
                5..13 => {
                    let time = clocks[on].ticks();
                    prop_assert!(time >= last[on], "{} after {}", time, last[on]);
                    last[on] = time;
                }
                13..15 => { watchdog.check(&keeper, strand(on)); }
                15 => keeper.poll(strand(0)),
                16 => { let _ = keeper.demote(source, strand(0)); }
                17 => counter.jump(value as i64 >> bits),
                18 => counter.set(value),
                19 => counter.set_stopped(value % 2 == 1),
                20 => counter.set_drift((value % 1_800_000_000) as i64 - 900_000_000),
                21 => counter.dead.set(value % 2 == 1),
                22 => counter.apart.set([0, 21, 42].map(|by| value.rotate_left(by) as i64 >> bits)),
                // Sets the bits above the count, such as the NPT bit.
                _ => counter.beyond.set(value),
            }
        }
    }
}

/// A counter that threads share. It advances with each read.
struct Shared {
    count: AtomicU64,
    rating: u16,
    /// How many ticks each strand's count is ahead of the previous strand's count.
    apart: u64,
}

impl ClockSource for Shared {
    fn describe(&self) -> Description {
        description(32, 1_000_000_000, self.rating)
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        Some(count + self.apart * strand.index() as u64)
    }
}

#[test]
fn threads_never_see_a_step_back() {
    for round in 0..5_u64 {
        let sources = [4, 3, 2, 1].map(|rating| Shared {
            count: AtomicU64::new((1 << 32) - 100 * u64::from(rating)),
            rating,
            apart: round * 1000,
        });
        let candidates = sources.each_ref().map(Candidate::new);
        let keeper = Timekeeper::new(candidates, &ENVIRONMENT, strand(0)).unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for number in 0..3 {
                let (keeper, done) = (&keeper, &done);
                scope.spawn(move || {
                    let clock = keeper.clock(strand(number));
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let time = clock.ticks();
                        assert!(time >= last, "{time} after {last}");
                        last = time;
                    }
                });
            }
            for source in 0..3 {
                for _ in 0..500 {
                    keeper.poll(strand(0));
                }
                assert_eq!(keeper.demote(source, strand(0)), Ok(source + 1));
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
