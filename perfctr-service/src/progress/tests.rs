//! Tests the judgement on units, with handwritten and random cases.

use std::collections::BTreeSet;
use std::vec::Vec;

use guest_abi::Hub;
use proptest::prelude::*;

use super::judgement::{UnitCounts, WaitReason, Watch};
use super::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE};
use super::{REPEAT_TICKS, Stopwatch, Stopwatches};

/// A look: what the strand finds, the growth of three counts (ended, chip busy, entered), and the ticks since the previous look.
type Look = (WaitReason, [u32; 3], u64);

/// Evaluates looks, the first of them after time `from`. Returns, for each look, whether the unit is then stuck.
fn stuck(from: u64, looks: impl IntoIterator<Item = Look>) -> Vec<bool> {
    let (mut watch, mut counts, mut now) = (Watch::default(), UnitCounts::default(), from);
    let look = |(found, [ended, chip_busy, entered], ticks): Look| {
        counts.ended = counts.ended.wrapping_add(ended);
        counts.chip_busy = counts.chip_busy.wrapping_add(chip_busy);
        counts.entered = counts.entered.wrapping_add(entered);
        now = now.wrapping_add(ticks);
        let stuck;
        (watch, stuck) = watch.step(found, counts, now);
        stuck
    };
    looks.into_iter().map(look).collect()
}

const fn busy(ticks: u64) -> Look {
    (WaitReason::Busy, [0; 3], ticks)
}

const BUSY: Look = busy(PAUSE);

/// Evaluates 32 busy looks, which add up to 31 of the 32 pauses in the limit, and then `last`. Returns the number of looks until the unit
/// is stuck.
fn stuck_with(last: &[Look]) -> Option<usize> {
    let looks = [BUSY; 32].into_iter().chain(last.iter().copied());
    let stuck = stuck(u64::MAX - 5 * PAUSE, looks);
    stuck.iter().position(|stuck| *stuck).map(|first| first + 1)
}

#[test]
fn cases() {
    let back = |ticks: u64| ticks.wrapping_neg();
    for (last, expected) in [
        (&[BUSY][..], Some(33)),
        // The last look comes one tick too early. A look after no tick adds nothing.
        (&[busy(PAUSE - 1), busy(0)], None),
        (&[busy(PAUSE - 1), busy(1)], Some(34)),
        // The strand pauses, or its clock steps back.
        (&[busy(PAUSE + 1), BUSY], None),
        (&[busy(3600 * LIMIT), BUSY], None),
        (&[busy(back(1)), BUSY], None),
        (&[busy(back(LIMIT)), BUSY], None),
        // An access has ended since the previous look.
        (&[(WaitReason::Busy, [1, 0, 0], PAUSE), BUSY], None),
        (&[(WaitReason::Turn, [1, 0, 0], 0), BUSY], None),
        // Another strand has the turn. The look counts if the chip has been busy since the previous look.
        (&[(WaitReason::Turn, [0, 1, 0], PAUSE)], Some(33)),
        (&[(WaitReason::Turn, [0, 0, 0], PAUSE)], None),
        (&[(WaitReason::Turn, [0, 0, 1], PAUSE - 1), busy(1)], Some(34)),
        (&[(WaitReason::Turn, [0, 0, 0], PAUSE), busy(1)], None),
        // The gate cannot be entered. Since the previous look, either no strand or one strand has entered it.
        (&[(WaitReason::Locked, [0, 0, 0], PAUSE)], Some(33)),
        (&[(WaitReason::Locked, [0, 0, 1], PAUSE), BUSY], None),
    ] {
        assert_eq!(stuck_with(last), expected, "{last:?}");
    }
}

#[test]
fn a_strand_has_a_stopwatch_for_each_unit() {
    let watches = Stopwatches::new();
    let hubs = Hub::ALL.iter().map(|hub| watches.hub(*hub));
    let all: BTreeSet<_> = hubs.chain([&watches.l2]).map(std::ptr::from_ref).collect();
    assert_eq!(all.len(), Hub::ALL.len() + 1);
}

fn looks() -> impl Strategy<Value = Vec<Look>> {
    let found = prop_oneof![
        4 => Just(WaitReason::Busy),
        1 => Just(WaitReason::Turn),
        1 => Just(WaitReason::Locked),
    ];
    let ticks = prop_oneof![
        6 => 0..=PAUSE,
        2 => Just(PAUSE),
        1 => PAUSE..10_000 * LIMIT,
        1 => (0..10_000 * LIMIT).prop_map(u64::wrapping_neg),
    ];
    prop::collection::vec((found, (0..2_u32, 0..2_u32), ticks), 1..200).prop_map(|looks| {
        let look = |(found, (chip_busy, entered), ticks)| (found, [0, chip_busy, entered], ticks);
        looks.into_iter().map(look).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// If an access to a unit ends at least once in 32 looks, the unit is never stuck, whatever a clock shows.
    #[test]
    fn a_unit_that_serves_is_not_stuck(from: u64, mut looks in looks(), every in 1..=32_usize) {
        looks.iter_mut().step_by(every).for_each(|look| look.1[0] = 1);
        prop_assert!(!stuck(from, looks).contains(&true));
    }

    /// If a strand pauses, or its clock steps back, at least once in 32 looks, no unit is stuck.
    #[test]
    fn a_strand_that_makes_pauses_finds_nothing_stuck(from: u64, mut looks in looks(), every in 1..=32_usize, pause in PAUSE + 1..) {
        looks.iter_mut().step_by(every).for_each(|look| look.2 = pause);
        // Let every look find the unit busy: otherwise two pauses in a row can add up to a time that wraps to a short time.
        looks.iter_mut().for_each(|look| look.0 = WaitReason::Busy);
        prop_assert!(!stuck(from, looks).contains(&true));
    }

    /// After a counted refusal, another refusal is counted if it comes more than 2^19 ticks later, as the proof `smt/pace.smt2` says. A
    /// refusal at the same tick is counted too.
    #[test]
    fn a_refusal_counts_once_in_the_time(last: u64, gap in prop_oneof![0..4_u64, (1 << 19) - 2..(1_u64 << 19) + 3, 0..u64::MAX]) {
        let watch = Stopwatch::new();
        watch.record_refusal(last);
        let counts = gap.wrapping_sub(1) >= 1 << 19;
        prop_assert_eq!(!watch.refused_recently(last.wrapping_add(gap)), counts, "{}", gap);
        prop_assert_eq!(REPEAT_TICKS, 0x8_0000);
    }

    /// A strand keeps asking for a dead unit, without a pause. The unit is stuck exactly when the limit has passed.
    #[test]
    fn a_unit_that_is_dead_is_stuck(from: u64, gaps in prop::collection::vec(1..=PAUSE, 200..400)) {
        let looks = gaps.iter().map(|ticks| (WaitReason::Busy, [0; 3], *ticks));
        let first = stuck(from, looks).iter().position(|stuck| *stuck);
        let waited: Vec<u64> = (0..gaps.len()).map(|look| gaps[1..=look].iter().sum()).collect();
        let expected = waited.iter().position(|waited| *waited >= LIMIT);
        prop_assert_eq!(first, expected);
    }
}
