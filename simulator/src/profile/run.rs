//! Execution of the program: instruction by instruction, each on the processor of its thread.

use std::collections::HashMap;

use super::error::ProfileError;
use super::stacks::{Point, StackId, Stacks, Unwinder};
use crate::memory::{Executed, Quantum};
use crate::scheduler::Scheduler;

/// A processor, or several, that execute recorded instructions and have counters.
pub trait Processor {
    /// Takes an instruction to execute: its fetch, and its loads and stores. (A recording may begin with data; then the fetch is
    /// missing.) It executes on the call stack `stack`. Lets guests handle the interrupts, and adds to `truth` which events happened, without use of the counters.
    ///
    /// # Errors
    /// The counters refuse to go on.
    fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError>;

    /// Completes what is under way at the end of the program, and stops the counters. Returns the cycles that have passed, of
    /// which `now` have in the scheduler's time.
    ///
    /// # Errors
    /// The counters refuse to go on.
    fn finish(&mut self, now: u64, truth: &mut Truth) -> Result<u64, ProfileError>;
}

/// How many events of one kind happened, by instruction and call stack.
pub type Exact = HashMap<Point, u64>;

/// What really happened.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Instructions executed.
    pub instructions: u64,
    /// References replayed, instructions included.
    pub references: u64,
    /// Cycles passed.
    pub cycles: u64,
    /// Where the events happened, for each event that is sampled.
    pub exact: Vec<Exact>,
}

impl Truth {
    /// Adds `n` events of the kind with this place among those that are sampled, which this instruction caused.
    pub fn add(&mut self, place: usize, at: Point, n: u64) {
        if n > 0 {
            *self.exact[place].entry(at).or_default() += n;
        }
    }
}

/// The instructions from one report of the progress to the next.
const PROGRESS: u64 = 1 << 14;

/// Runs the program to its end, while guests sample `events` events, and the unwinder follows its calls.
///
/// # Errors
/// The recording cannot be read, or the counters refuse to go on.
pub(super) fn run(
    processor: &mut impl Processor,
    scheduler: &mut Scheduler,
    mut unwinder: Option<&mut Unwinder<'_>>,
    events: usize,
    progress: &mut dyn FnMut(u64),
) -> Result<Truth, ProfileError> {
    let mut truth = Truth {
        exact: vec![Exact::new(); events],
        ..Truth::default()
    };
    while let Some((thread, quantum)) = scheduler.next(usize::MAX)? {
        let instruction = quantum.first_instruction();
        let length = instruction.references.len();
        let fetch = instruction.references.first();
        let stack = match (&mut unwinder, fetch) {
            (Some(unwinder), Some(fetch)) => unwinder.fetch(thread, &fetch),
            _ => Stacks::EMPTY,
        };
        let executed = processor.execute(&instruction, stack, &mut truth)?;
        scheduler.executed(&executed);
        truth.references += length as u64;
        truth.instructions += executed.instructions;
        if truth.instructions.is_multiple_of(PROGRESS) {
            progress(scheduler.progress().read);
        }
    }
    progress(scheduler.progress().read);
    truth.cycles = processor.finish(scheduler.now(), &mut truth)?;
    Ok(truth)
}
