//! Tests how busy units are judged: compares `smt/judgement.smt2` with the shipped function.

use perfctr_service::decisions::judgement::{UnitCounts, WaitReason, Watch};
use tests::random::Random;

use super::{all_are_true, random};

/// The longest time that a unit may stay busy, in ticks.
const LIMIT: u64 = 1 << 30;
/// The longest time between two looks at a unit, in ticks. The service treats a longer time as a pause.
const PAUSE: u64 = 1 << 25;

fn counts(counts: UnitCounts) -> String {
    let UnitCounts { ended, chip_busy, entered } = counts;
    format!("(counts #x{ended:08x} #x{chip_busy:08x} #x{entered:08x})")
}

fn watch(watch: Watch) -> String {
    let Watch { last, waited, .. } = watch;
    let (waits, waited, seen) = (waited.is_some(), waited.unwrap_or(0), counts(watch.counts));
    format!("(watch {seen} #x{last:016x} {waits} #x{waited:08x})")
}

/// Returns a random number, which is often close to one of `numbers`.
fn near(random: &mut Random, numbers: &[u64]) -> u64 {
    match random.below(8) {
        0 => random.next_u64(),
        _ => (random.one_of(numbers)).wrapping_add(random.below(5) as u64).wrapping_sub(2),
    }
}

/// z3 applies the definition to random looks at a busy unit, in random states. The shipped function must return the same results.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn the_judgement_is_the_function_that_ships() {
    let mut random = random();
    let mut steps = Vec::new();
    let mut stuck_steps = 0;
    for _ in 0..4_000 {
        let count = |random: &mut Random| random.one_of(&[0, 1, u32::MAX]);
        let mut some = || UnitCounts {
            ended: count(&mut random),
            chip_busy: count(&mut random),
            entered: count(&mut random),
        };
        let (before, now) = (some(), some());
        let last = random.next_u64();
        // The value is at most the limit, as in the result of a step.
        let waited = near(&mut random, &[0, PAUSE, LIMIT - PAUSE, LIMIT]).min(LIMIT) as u32;
        let before = Watch {
            counts: before,
            last,
            waited: random.one_of(&[None, Some(waited), Some(waited)]),
        };
        let time = last.wrapping_add(near(&mut random, &[0, PAUSE, LIMIT]));
        let found = random.one_of(&[WaitReason::Busy, WaitReason::Turn, WaitReason::Locked]);
        let (after, stuck) = before.step(found, now, time);
        stuck_steps += usize::from(stuck);
        let name = match found {
            WaitReason::Busy => "found-busy",
            WaitReason::Turn => "found-turn",
            WaitReason::Locked => "found-locked",
        };
        let (w, c, after) = (watch(before), counts(now), watch(after));
        let look = format!("{w} {name} {c} #x{time:016x}");
        steps.push((
            format!("{before:?}, {found:?}, {now:?}, {time}"),
            format!("(and (= (look {look}) {after}) (= (stuck {look}) {stuck}))"),
        ));
    }
    assert!(stuck_steps > 40);
    all_are_true(&["judgement.smt2"], &steps);
}
