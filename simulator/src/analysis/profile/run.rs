//! Executes a recorded program instruction by instruction.

use std::ops::ControlFlow;

use super::clock::ThreadClocks;
use super::error::ProfileError;
use super::processor::{ExactCounts, Processor, Truth};
use super::stacks::{Point, Stacks, Unwinder};
use crate::replay::Progress;
use crate::replay::scheduler::Scheduler;

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
