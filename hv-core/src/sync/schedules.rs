//! Runs what many strands do at the same time in many random orders, chosen by shuttle. Under `cfg(shuttle)` only.
//!
//! Loom ([`model`](super)) tries every order of two or three strands, with weak memory. Shuttle tries some orders of dozens of
//! strands, with sequentially consistent memory.
//!
//! An order is a *schedule*: which strand makes each step. Half of the schedules are random: at each step, any strand is as likely
//! as any other. The other half are those of probabilistic concurrency testing (PCT): the strand of the highest priority goes
//! on, and priorities are random and change at few random steps, so that some strands stop for long in awkward places.
//!
//! | environment variable | meaning |
//! |---|---|
//! | `SCHEDULES` | so many times the schedules that a test states |
//! | `SCHEDULE` | this schedule only, as a failing test prints it |
//! | `SHUTTLE_RANDOM_SEED` | the seed, a number; the same seed makes the same schedules |

extern crate std;

use std::format;
use std::io::Write;
use std::string::String;
use std::vec::Vec;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

pub use shuttle::thread;

/// The seed of both kinds of schedules.
const SEED: u64 = 1;

/// How many times a strand's priority changes in a PCT schedule, plus one.
const DEPTH: usize = 5;

/// A schedule with more steps than this fails: somebody starves.
const STEPS: usize = 2_000_000;

/// Bytes of the stack of a strand: it holds the service while it is made.
const STACK: usize = 4 << 20;

/// Runs a model in so many random schedules and in as many PCT schedules, and prints how many there were.
///
/// # Panics
/// If the model panics, after printing the schedule, which `SCHEDULE` takes.
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
    let random = run(
        RandomScheduler::new_from_seed(SEED, schedules),
        model.clone(),
    );
    let pct = run(PctScheduler::new_from_seed(SEED, DEPTH, schedules), model);
    // Unlike `println!`, this prints also when the test passes. Nothing is lost if nobody reads it.
    let said = format!("{name}: {random} random schedules, {pct} of PCT\n");
    let _ = std::io::stdout().write_all(said.as_bytes());
}

fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) -> usize {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    // Loom looks for what weaker orderings allow.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(model)
}

/// Runs what each strand does, at the same time, and waits for all.
///
/// # Panics
/// If one of them does.
pub fn meet(strands: usize, part: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let part = &part;
        let strands: Vec<_> = (0..strands)
            .map(|strand| scope.spawn(move || part(strand)))
            .collect();
        for strand in strands {
            strand.join().unwrap();
        }
    });
}

/// Returns a number below `end` that the schedule chooses.
pub fn any_below(end: usize) -> usize {
    use shuttle::rand::Rng;
    shuttle::rand::thread_rng().gen_range(0..end)
}

/// A step that changes nothing: other strands may go on here.
pub fn pause() {
    thread::sleep(core::time::Duration::ZERO);
}
