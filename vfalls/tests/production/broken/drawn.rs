//! Runs that a printed seed draws, counted by what the failures interrupt.

use std::collections::BTreeMap;
use std::env;

use tests::random::Random;
use xtask::qemu::build::Production;

use super::super::image;
use super::plan::Plan;
use super::{Ready, Run, compared};

/// The number of runs with failures that are compared with one run without.
const EACH: u64 = 20;

/// What came of a run with failures: whether calls on the units were refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    Unnoticed,
}

type Table = BTreeMap<(&'static str, &'static str), [u64; 2]>;

/// Makes the runs of a seed, and adds them to the table. Returns the number of runs that no failure has interrupted.
fn make(ready: &Ready, seed: u64, table: &mut Table) -> Result<u64, String> {
    let mut random = Random(seed);
    let plan = Plan::drawn(&mut random);
    let mut ends = Vec::new();
    let mut right = Run::new(ready, &plan, false);
    right.run(|_, run| {
        ends.push(run.execution.clone());
        Ok(())
    })?;
    let mut without = 0;
    for number in 0..EACH {
        let plan = plan.with_faults(&mut random);
        let mut found = Run::new(ready, &plan, true);
        let mut refused = 0;
        let judged = found.run(|stage, run| {
            refused += compared::judge(stage, &ends[stage], run)?;
            Ok(())
        });
        judged.map_err(|why| {
            let Plan { between, looks, latency, faults, .. } = &plan;
            format!(
                "seed {seed}, run {number}: {why}\n{between:?}, {looks:?}, {latency:?}, {faults:?}"
            )
        })?;
        without += u64::from(found.hits.is_empty());
        let outcome = if refused > 0 { Outcome::Refused } else { Outcome::Unnoticed };
        for (what, times) in found.hits {
            table.entry(what).or_default()[outcome as usize] += times;
        }
    }
    Ok(without)
}

/// With `ALL` in the environment, makes 100,000 runs. With `SEED`, begins with that seed.
#[test]
#[ignore = "builds images"]
fn failures_stay_their_own_trouble() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SEED").unwrap_or(1);
    let seeds = number("SEEDS").unwrap_or(if env::var_os("ALL").is_some() { 5000 } else { 100 });
    let ready = Ready::new(&image(Production::Shipped));
    let mut table = Table::new();
    let mut without = 0;
    for seed in first..first + seeds {
        without += make(&ready, seed, &mut table).unwrap_or_else(|why| panic!("{why}"));
        if (seed - first + 1) % 500 == 0 {
            tests::tell(format_args!("{} runs", (seed - first + 1) * EACH));
        }
    }
    tests::tell(format_args!("seeds {first} to {}: {} runs", first + seeds - 1, seeds * EACH));
    for ((what, how), [refused, unnoticed]) in &table {
        tests::tell(format_args!("{what:40} {how:20} {refused:>8} {unnoticed:>8}"));
    }
    tests::tell(format_args!("no failure interrupts {without}"));
}
