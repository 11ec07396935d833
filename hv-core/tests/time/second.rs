//! Compares the watchdog with a second model and with the true time, while clocks have random faults.

use guest_abi::clock::Clock;
use hv_core::time::{Finding, Limits, Timekeeper, Trust, Watchdog};
use proptest::prelude::*;

use crate::judge::{Ability, Judge, Reading};
use crate::world::{Counter, MILLISECOND, SECOND, World, keeper, strand};

/// The time between two checks.
const PERIOD: u64 = 10 * MILLISECOND;

const LIMITS: Limits = Limits { tolerance: 200, bracket: 50_000, tries: 3, probation: 10 * SECOND };

const SOURCES: [(u8, u64, u16); 4] = [
    (63, 1_165_379_275, 300),
    (63, 1_000_000_000, 250),
    (56, 31_250_000, 200),
    (64, 3_579_545, 100),
];

/// A fault that a test injects into a clock.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// The clock's rate is wrong by this number of parts per million.
    Drift(i64),
    Stop,
    /// The clock jumps by this number of nanoseconds.
    Jump(i64),
    Lose(u64),
    Unreadable,
}

impl Wrong {
    fn befall(self, counter: &Counter<'_>) {
        let ticks = |ns: i64| {
            let hz = i128::from(counter.description.get().hz);
            (i128::from(ns) * hz / 1_000_000_000) as i64
        };
        match self {
            Self::Drift(parts) => counter.set_drift(parts * 1000),
            Self::Stop => counter.set_stopped(true),
            Self::Jump(ns) => counter.jump(ticks(ns)),
            Self::Lose(ns) => counter.jump(-ticks(ns as i64)),
            Self::Unreadable => counter.dead.set(true),
        }
    }
}

fn wrong() -> impl Strategy<Value = Wrong> {
    let sign = prop::bool::ANY.prop_map(|ahead| if ahead { 1 } else { -1 });
    prop_oneof![
        (500..100_000_i64, sign.clone()).prop_map(|(by, sign)| Wrong::Drift(by * sign)),
        Just(Wrong::Stop),
        (1_000_000..5_000_000_000_i64, sign).prop_map(|(by, sign)| Wrong::Jump(by * sign)),
        (1_000_000..9_000_000_u64).prop_map(Wrong::Lose),
        Just(Wrong::Unreadable),
    ]
}

/// Repeats the watchdog's check until a check changes nothing, as an image does. Returns the last finding.
fn settled<const N: usize>(
    watchdog: &mut Watchdog<N>,
    keeper: &Timekeeper<&Counter<'_>, N>,
) -> Finding {
    for _ in 0..2 * N {
        let found = watchdog.check(keeper, strand(0));
        if !matches!(found, Finding::Demoted { .. } | Finding::Restored { .. }) {
            return found;
        }
    }
    panic!("it does not settle");
}

/// Three clocks go wrong, one after the other. The timekeeper may be wrong until a period plus 10 ms after each fault. After that, its time
/// must be within 1 ms of the true time, or in doubt. Any finding other than `Agrees` (such as `Undecided` or `NoReference`) puts the time
/// in doubt until the end of the test.
fn three_faults(faults: &[(usize, Wrong, u64)]) {
    let world = World::default();
    let counters: [Counter<'_>; 3] = std::array::from_fn(|number| {
        let (width, hz, rating) = SOURCES[number];
        Counter::new(&world, width, hz, rating)
    });
    world.pass(SECOND);
    let keeper = keeper(counters.each_ref());
    let begun = world.now();
    let clocks = [0, 1].map(|number| keeper.clock(strand(number)));
    let mut watchdog = Watchdog::new(LIMITS);
    watchdog.check(&keeper, strand(0));
    let (mut in_doubt, mut shown, mut latest) = (false, 0, begun);
    let mut faults = faults.iter().copied();
    let mut next = faults.next();
    for _ in 0..60 {
        let checked = world.now() + PERIOD;
        if let Some((source, wrong, at)) = next
            && at <= checked - begun
        {
            world.pass((begun + at).saturating_sub(world.now()));
            wrong.befall(&counters[source]);
            latest = world.now();
            next = faults.next();
        }
        world.pass(checked.saturating_sub(world.now()));
        let found = settled(&mut watchdog, &keeper);
        in_doubt |= !matches!(found, Finding::Agrees | Finding::Begun);
        world.pass(PERIOD / 3);
        let off = keeper.time(strand(0)).map(|time| time.abs_diff(world.now() - begun));
        let is_right = in_doubt || off.is_some_and(|off| off < MILLISECOND);
        let since = world.now() - latest;
        assert!(
            is_right || since < PERIOD + 10 * MILLISECOND,
            "{off:?} ns off {since} ns after the fault"
        );
        for clock in &clocks {
            let time = clock.ticks();
            assert!(time >= shown, "{time} after {shown}");
            shown = time;
        }
    }
}

/// Tests each order of the three clocks with each combination of faults.
#[test]
fn three_clocks_go_wrong_in_every_order_and_kind() {
    let kinds = [
        Wrong::Drift(500),
        Wrong::Drift(-500),
        Wrong::Stop,
        Wrong::Jump(300_000_000),
        Wrong::Jump(-300_000_000),
        Wrong::Lose(5_000_000),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for first in kinds {
            for second in kinds {
                for third in kinds {
                    let [a, b, c] = order;
                    let at = [95 * MILLISECOND, 203 * MILLISECOND, 311 * MILLISECOND];
                    three_faults(&[(a, first, at[0]), (b, second, at[1]), (c, third, at[2])]);
                }
            }
        }
    }
}

/// Asserts that the watchdog and the second model retire the same clocks when clocks go wrong.
fn beside_the_second_model<const N: usize>(
    abilities: [(bool, bool); N],
    periods: &[(usize, Wrong, bool)],
) -> Result<(), TestCaseError> {
    let world = World::default();
    let counters: [Counter<'_>; N] = std::array::from_fn(|number| {
        let (width, hz, rating) = SOURCES[number];
        let counter = Counter::new(&world, width, hz, rating);
        let (may_gain, may_lose) = abilities[number];
        counter.describe_as(|description| {
            description.hazards.may_gain = may_gain;
            description.hazards.may_lose = may_lose;
        });
        counter
    });
    world.pass(100 * SECOND);
    let keeper = keeper(counters.each_ref());
    let mut watchdog = Watchdog::new(LIMITS);
    watchdog.check(&keeper, strand(0));
    let able = abilities.map(|(may_gain, may_lose)| Ability { may_gain, may_lose });
    let mut judge = Judge::new(able.to_vec(), u64::from(LIMITS.tolerance), u32::MAX);
    let counts = || counters.each_ref().map(Counter::count);
    let mut before = counts();
    for (source, wrong, happens) in periods {
        if *happens && *source < N {
            wrong.befall(&counters[*source]);
        }
        world.pass(PERIOD);
        let after = counts();
        let readings: Vec<Reading> = (0..N)
            .map(|number| {
                let counter = &counters[number];
                let ticks = i128::from(after[number].wrapping_sub(before[number]).cast_signed());
                let hz = i128::from(counter.description.get().hz);
                Reading {
                    passed: (!counter.dead.get()).then_some((ticks * 1_000_000_000 / hz) as i64),
                    uncertainty: 1 + 1_000_000_000 / hz as u64,
                }
            })
            .collect();
        // The two models apply the tolerance to slightly different durations. In addition, the watchdog puts two sources that differ into
        // one group if a third source agrees with both. If a difference is near the tolerance, both results are therefore acceptable.
        let apart = |a: &Reading, b: &Reading| Some(a.passed?.abs_diff(b.passed?));
        let is_near = readings.iter().any(|a| {
            readings.iter().any(|b| matches!(apart(a, b), Some(by) if (600..10_000).contains(&by)))
        });
        prop_assume!(!is_near);
        judge.judge(&readings);
        let trusted = judge.trusted();
        settled(&mut watchdog, &keeper);
        before = counts();
        let ours: Vec<bool> =
            (0..N).map(|source| keeper.verdict(source).unwrap().1 == Trust::Full).collect();
        // The timekeeper keeps its last source, even a bad one.
        if trusted.iter().filter(|trusted| **trusted).count() < 2 {
            prop_assert!(ours.iter().filter(|trusted| **trusted).count() <= 1, "{readings:?}");
            return Ok(());
        }
        prop_assert_eq!(&ours, trusted);
    }
    Ok(())
}

proptest! {
    // More cases would take half a minute on an emulated processor.
    #![proptest_config(ProptestConfig::with_cases(if cfg!(target_arch = "sparc64") { 500 } else { 10_000 }))]

    #[test]
    fn random_faults_of_three_clocks(
        faults in prop::collection::vec((0..3_usize, wrong(), 30 * MILLISECOND..550 * MILLISECOND), 3),
    ) {
        let mut faults = faults;
        faults.sort_by_key(|(_, _, at)| *at);
        three_faults(&faults);
    }

    #[test]
    fn the_second_model_retires_the_same(
        abilities: [(bool, bool); 4],
        clocks in 2..5_usize,
        periods in prop::collection::vec((0..4_usize, wrong(), prop::bool::weighted(0.4)), 1..12),
    ) {
        let [a, b, c, d] = abilities;
        match clocks {
            2 => beside_the_second_model([a, b], &periods)?,
            3 => beside_the_second_model([a, b, c], &periods)?,
            _ => beside_the_second_model([a, b, c, d], &periods)?,
        }
    }
}
