//! Runs models of many concurrent strands in random orders chosen by shuttle. Exists under `cfg(shuttle)` only.
//!
//! Loom (the module `model`) tries every order of two or three strands, with weak memory. Shuttle tries some orders of dozens of
//! strands, with sequentially consistent memory.
//!
//! A *schedule* is an order: it says which strand takes each step. In half of the schedules, a random strand takes each step. The other
//! half use probabilistic concurrency testing (PCT): the strand with the highest priority takes the step. Priorities are random, and change
//! at a few random steps, so that some strands stand still for a long time at unusual steps.
//!
//! | environment variable | meaning |
//! |---|---|
//! | `SCHEDULES` | a number by which each test multiplies its own number of schedules; the default is 1 |
//! | `SCHEDULE` | the only schedule to run, as a failing test prints it |
//! | `SHUTTLE_RANDOM_SEED` | the seed, a number; the same seed gives the same schedules |

extern crate std;

use std::format;
use std::io::Write;
use std::string::String;
use std::vec::Vec;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

pub use shuttle::thread;

/// The default seed of random schedules and PCT schedules. `SHUTTLE_RANDOM_SEED` sets another seed.
const SEED: u64 = 1;

/// The number of priority changes in a PCT schedule, plus 1.
const PCT_DEPTH: usize = 5;

/// The maximum number of steps. A schedule with more steps counts as stuck, and fails.
const MAX_STEPS: usize = 2_000_000;

/// The size of a strand's stack in bytes. A model builds the service on the stack.
const STACK_BYTES: usize = 4 << 20;

/// Runs a model in `schedules` random schedules and in the same number of PCT schedules, and prints both numbers. If the model panics,
/// prints the schedule as a value for the variable `SCHEDULE`, and panics.
pub fn explore(schedules: usize, model: impl Fn() + Clone + Send + Sync + 'static) {
    let setting = |name: &str| std::env::var(name).ok();
    let test = std::thread::current();
    let name: String = test.name().unwrap_or_default().into();
    if let Some(schedule) = setting("SCHEDULE") {
        run(ReplayScheduler::new_from_encoded(schedule.trim()), model);
        return;
    }
    let times = setting("SCHEDULES").map_or(1, |times| times.parse().expect("a number"));
    let schedules = times * schedules;
    let random = run(RandomScheduler::new_from_seed(SEED, schedules), model.clone());
    let pct = run(PctScheduler::new_from_seed(SEED, PCT_DEPTH, schedules), model);
    // Unlike `println!`, a direct write shows the text even if the test passes. A failed write does no harm.
    let said = format!("{name}: {random} random schedules, {pct} of PCT\n");
    let _ = std::io::stdout().write_all(said.as_bytes());
}

fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) -> usize {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    // The warnings say that shuttle, unlike loom, does not model weak orderings.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(model)
}

/// Calls `part` on strands 0 to `strands - 1` concurrently, and waits for all of them. Panics if a strand panics.
pub fn run_concurrently(strands: usize, part: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let part = &part;
        let strands: Vec<_> =
            (0..strands).map(|strand| scope.spawn(move || part(strand))).collect();
        for strand in strands {
            strand.join().unwrap();
        }
    });
}

/// Returns a number below `end` that the schedule chooses.
pub fn random_below(end: usize) -> usize {
    use shuttle::rand::Rng;
    shuttle::rand::thread_rng().gen_range(0..end)
}

/// Takes a step that changes nothing, so that other strands may continue.
pub fn pause() {
    thread::sleep(core::time::Duration::ZERO);
}
