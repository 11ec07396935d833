//! Executes a strand's shapes step by step. A *shape* is one of the ways in which a block of the program's code can execute.

use super::{Local, NO_LINE, StopReason, StoreAhead, line};
use crate::memory::figures::Variant;
use crate::memory::timing::ISSUE;
use crate::recording::{Done, Kind, Part, ShapeStep, StepAction, Steps};

impl<V: Variant, const WATCHED: bool> Local<'_, '_, V, WATCHED> {
    /// Executes a part of a shape step by step.
    #[inline(always)]
    pub(super) fn steps(&mut self, part: &Part<'_>, all: &Steps<'_>) -> StopReason {
        let (timing, shape) = (&self.ahead.figures().timing, part.shape);
        let done = &all.done;
        // The time at which the shape would have begun if it had executed from its start without stalls.
        let begins = self.now.wrapping_sub(timing.elapsed(done));
        if part.first > 0 && !self.fetch_lines(&part.references[0]) {
            return StopReason::Blocked;
        }
        let mut data = part.data[part.first - usize::from(done.begun)..].iter();
        let mut steps = all.steps.iter();
        while let Some(step) = steps.next() {
            let datum = match step.action {
                StepAction::Fetch => None,
                _ => data.next().copied(),
            };
            let fetched = || {
                let address = shape.address.wrapping_add_signed(step.offset.into());
                address.wrapping_add(self.offset)
            };
            // Most steps change nothing.
            let changes_nothing = match (step.action, datum) {
                (StepAction::Fetch, _) => self.ahead.is_latest_fetched(fetched(), 1),
                (StepAction::Load, Some(address)) => {
                    let address = address.wrapping_add(self.offset);
                    self.ahead.is_latest_loaded(address, step.further + 1)
                }
                _ => false,
            };
            if changes_nothing {
                continue;
            }
            let is_local = match (step.action, datum) {
                (StepAction::Fetch, _) => {
                    let address = fetched();
                    let line = line(self.ahead.figures().l1i.line_shift, address);
                    !self.ahead.is_watched(address, 1) && self.ahead.renew_instructions(line)
                }
                (StepAction::Load, Some(address)) => {
                    self.ahead.load(self.offset, address, step.further + 1)
                }
                (StepAction::Store, Some(address)) => {
                    let issued = begins.wrapping_add(timing.issued(&step.done));
                    let turn = match step.divided {
                        ShapeStep::UNDIVIDED => issued,
                        loads => begins.wrapping_add(timing.elapsed(&Done { loads, ..step.done })),
                    };
                    let is_last =
                        steps.as_slice().first().is_none_or(|next| next.fetch != step.fetch);
                    let store = StoreAhead {
                        strand: self.strand,
                        instruction: shape.address.wrapping_add_signed(step.offset.into()),
                        turn,
                        issued,
                        now: begins.wrapping_add(timing.elapsed(&step.done)),
                        address,
                        offset: self.offset,
                        size: step.further + 1,
                    };
                    is_last && self.ahead.store(store)
                }
                (StepAction::Modify, _) | (_, None) => false,
            };
            if is_local {
                if self.ahead.stored == Some(0) {
                    self.now = begins.wrapping_add(timing.elapsed(&step.done));
                    self.stop(part, all, steps.as_slice().len() + 1, usize::from(step.next));
                    return StopReason::Blocked;
                }
                continue;
            }
            // A store after a load can execute later than its instruction begins, so the strand stops between the load and the
            // store.
            let stops = if step.action == StepAction::Store && step.divided == step.done.loads {
                self.now = begins.wrapping_add(timing.elapsed(&step.done));
                usize::from(step.next) - 1
            } else {
                self.now = begins.wrapping_add(timing.issued(&step.done));
                usize::from(step.fetch)
            };
            self.stop(part, all, steps.as_slice().len() + 1, stops);
            return StopReason::Blocked;
        }
        self.now = begins.wrapping_add(timing.elapsed(&shape.done));
        self.fetched = NO_LINE;
        self.executed.issued = begins.wrapping_add(timing.issued(&shape.done));
        self.executed.references += part.references.len();
        self.executed.instructions += u64::from(shape.done.begun - done.begun);
        let mut executed = shape.by_kind;
        executed.subtract(&all.begun);
        self.by_kind.add(&executed);
        StopReason::None
    }

    /// Counts the references of a part that were executed up to the reference `stops`, at the current time. `left` is the number of
    /// steps from the step on at which the strand stops; that step's instruction is not executed, or executed as far as the step.
    #[inline(always)]
    fn stop(&mut self, part: &Part<'_>, all: &Steps<'_>, left: usize, stops: usize) {
        let timing = &self.ahead.figures().timing;
        let at = all.steps.len() - left;
        let (step, mut executed) = (&all.steps[at], all.before[at]);
        executed.subtract(&all.begun);
        let fetch = usize::from(step.fetch);
        let references = &part.references[..stops - part.first];
        let mut begun = step.done.begun - 1 - all.done.begun;
        if stops > fetch {
            begun += 1;
            executed.count(&part.references[fetch - part.first]);
        }
        if begun > 0 {
            let mut loads = 0;
            for reference in references.iter().rev() {
                if reference.kind.is_fetch() {
                    let taken = if reference.flow.is_elsewhere() { timing.taken } else { 0 };
                    self.executed.issued = self.now - ISSUE - taken - loads * timing.load;
                    break;
                }
                loads += u64::from(reference.kind == Kind::Load);
            }
        }
        self.executed.instructions += u64::from(begun);
        self.executed.references += references.len();
        self.by_kind.add(&executed);
    }
}
