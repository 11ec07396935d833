//! Performs runs with random failures, which are drawn from seeds. The test prints the seeds, and how often failures interrupted each kind
//! of work.

use std::collections::BTreeMap;
use std::env;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tests::random::Random;
use xtask::qemu::build::Production;

use super::super::image;
use super::plan::Plan;
use super::{Ready, Run, compared};

/// The number of runs with failures for each run without failures.
const RUNS_PER_SEED: u64 = 20;

/// The minimum number of rows that the table has after 100,000 runs.
const KINDS: usize = 31;

/// Whether a call on a failed unit was refused during a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    Unnoticed,
}

pub(super) type Table = BTreeMap<(&'static str, &'static str), [u64; 2]>;

/// Performs the runs of one seed, and adds to the table what the failures interrupted. Returns the number of runs in which no failure
/// interrupted anything.
pub(super) fn run_seed(ready: &Ready, seed: u64, table: &mut Table) -> Result<u64, String> {
    let mut random = Random(seed);
    let plan = Plan::drawn(&mut random);
    let mut ends = Vec::new();
    let mut right = Run::new(ready, &plan, false);
    right.run(|_, run| {
        ends.push(run.end());
        Ok(())
    })?;
    let mut without = 0;
    for number in 0..RUNS_PER_SEED {
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

/// Performs 500 runs, or 100,000 if the environment variable `ALL` is set. The variable `SEED` sets the first seed, and `SEEDS` the number
/// of seeds.
#[test]
#[ignore = "builds images"]
fn failures_stay_their_own_trouble() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SEED").unwrap_or(1);
    let all = env::var_os("ALL").is_some();
    let seeds = number("SEEDS").unwrap_or(if all { 5000 } else { 25 });
    let hypervisor = image(Production::Shipped);
    let next = AtomicU64::new(first);
    let made = Mutex::new((Table::new(), 0));
    let work = || {
        let ready = Ready::new(&hypervisor);
        let mut table = Table::new();
        let mut without = 0;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                break;
            }
            without += run_seed(&ready, seed, &mut table).unwrap_or_else(|why| panic!("{why}"));
            if (seed - first + 1).is_multiple_of(500) {
                tests::print_line(format_args!("{} runs", (seed - first + 1) * RUNS_PER_SEED));
            }
        }
        let mut made = made.lock().unwrap();
        made.1 += without;
        for (what, [refused, unnoticed]) in table {
            let counts = made.0.entry(what).or_default();
            *counts = [counts[0] + refused, counts[1] + unnoticed];
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let (table, without) = made.into_inner().unwrap();
    tests::print_line(format_args!(
        "seeds {first} to {}: {} runs",
        first + seeds - 1,
        seeds * RUNS_PER_SEED
    ));
    tests::print_line(format_args!("{:36} {:20} {:>8} {:>9}", "hit", "by", "refused", "unnoticed"));
    for ((what, how), [refused, unnoticed]) in &table {
        tests::print_line(format_args!("{what:36} {how:20} {refused:>8} {unnoticed:>9}"));
    }
    tests::print_line(format_args!("runs that no failure interrupts: {without}"));
    assert!(without < seeds * RUNS_PER_SEED / 2);
    assert!(!all || table.len() >= KINDS, "{}", table.len());
}
