//! Executes a recorded program instruction by instruction.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::clock::ThreadClocks;
use super::error::ProfileError;
use super::stacks::{Point, StackId, Stacks, Unwinder};
use crate::memory::{Executed, Quantum};
use crate::replay::Progress;
use crate::replay::scheduler::Scheduler;

/// Processors that execute recorded instructions and have counters.
pub(crate) trait Processor {
    /// Executes an instruction: its fetch, its loads and its stores. Lets guests handle pending interrupts. Adds the events to `truth`
    /// without using the counters. `stack` is the instruction's call stack. If a recording starts with a data access, its first
    /// instruction has no fetch.
    fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError>;

    /// At the end of the program, completes pending instructions and stops the counters. `now` is the scheduler's time. Returns the total
    /// number of cycles.
    fn finish(&mut self, now: u64, truth: &mut Truth) -> Result<u64, ProfileError>;
}

/// How often one event really happened, by instruction and call stack.
pub(crate) type ExactCounts = HashMap<Point, u64>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    pub(crate) instructions: u64,
    /// The number of replayed references, including fetches.
    pub(crate) references: u64,
    pub(crate) cycles: u64,
    /// The time after the latest reference. It is up to date only if cycles are sampled.
    pub(crate) now: u64,
    /// Whether the observer stopped the program.
    pub(crate) stopped: bool,
    /// Each sampled event's true counts.
    pub(crate) exact: Vec<ExactCounts>,
}

impl Truth {
    /// Adds `n` occurrences of the sampled event with index `event`, which the instruction `at` caused.
    pub(crate) fn add(&mut self, event: usize, at: Point, n: u64) {
        if n > 0 {
            *self.exact[event].entry(at).or_default() += n;
        }
    }
}

/// A function that receives the program's progress, and decides whether the program continues.
pub(super) type Observe<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// The number of instructions between two calls to the observer.
const PROGRESS: u64 = 1 << 14;

/// Executes the program to its end, or until the observer stops it. `events` is the number of sampled events, including those that the
/// clocks sample. The unwinder tracks the calls.
pub(super) fn run(
    processor: &mut impl Processor,
    scheduler: &mut Scheduler,
    mut unwinder: Option<&mut Unwinder<'_>>,
    mut clocks: Option<&mut ThreadClocks>,
    events: usize,
    observe: &mut Observe<'_>,
) -> Result<Truth, ProfileError> {
    let mut truth = Truth { exact: vec![ExactCounts::new(); events], ..Truth::default() };
    while let Some((thread, quantum)) = scheduler.next(usize::MAX)? {
        let instruction = quantum.first_instruction();
        let fetch = instruction.references.first().map(|first| first.in_image(instruction.image));
        let stack = match (&mut unwinder, fetch) {
            (Some(unwinder), Some(fetch)) => unwinder.fetch(thread, &fetch),
            _ => Stacks::EMPTY,
        };
        let executed = processor.execute(&instruction, stack, &mut truth)?;
        let took = scheduler.executed(&executed);
        if let Some(clocks) = &mut clocks {
            let fetch = fetch.filter(|fetch| fetch.kind.is_fetch());
            let at = fetch.map(|fetch| Point { stack, address: fetch.address });
            let unwound = unwinder.as_mut().map(|unwinder| unwinder.stacks());
            clocks.executed(thread, at, took, scheduler, unwound, &mut truth);
        }
        truth.references += executed.references as u64;
        truth.instructions += executed.instructions;
        if truth.instructions.is_multiple_of(PROGRESS)
            && observe(scheduler.progress(scheduler.passed().references)).is_break()
        {
            truth.stopped = true;
            break;
        }
    }
    if !truth.stopped {
        // The job is complete, so it does not matter whether the observer wants to continue.
        let _ = observe(scheduler.progress(scheduler.passed().references));
    }
    let now = scheduler.now();
    if let Some(clocks) = clocks {
        clocks.finish(scheduler, unwinder.map(Unwinder::stacks), &mut truth);
    }
    truth.cycles = processor.finish(now, &mut truth)?;
    Ok(truth)
}
