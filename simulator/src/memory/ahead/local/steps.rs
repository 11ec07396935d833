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
                    self.stop(part, all, steps.len(), usize::from(step.next));
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
            self.stop(part, all, steps.len(), stops);
            return StopReason::Blocked;
        }
        self.now = begins.wrapping_add(timing.elapsed(&shape.done));
        self.fetched = NO_LINE;
        self.executed.issued = begins.wrapping_add(timing.issued(&shape.done));
        self.executed.references += part.references.len();
        self.executed.instructions += u64::from(shape.done.begun - done.begun);
        let mut executed = shape.by_kind;
        executed.subtract(&all.passed);
        self.by_kind.add(&executed);
        StopReason::None
    }

    /// Counts the part's references before the one with the index `end`, the last of which ends at the current time. The strand stops at the
    /// step that has `left` steps after it. That step's instruction has been executed up to `end`, or not at all.
    #[inline(always)]
    fn stop(&mut self, part: &Part<'_>, all: &Steps<'_>, left: usize, end: usize) {
        let timing = &self.ahead.figures().timing;
        let number = all.steps.len() - 1 - left;
        let (step, mut by_kind) = (&all.steps[number], all.before[number]);
        by_kind.subtract(&all.passed);
        let mut instructions = step.done.begun - 1 - all.done.begun;
        let references = &part.references[..end - part.first];
        if let Some(fetch) = references.get(usize::from(step.fetch) - part.first) {
            by_kind.count(fetch);
            instructions += 1;
        }
        if let Some(latest) = references.iter().rposition(|one| one.kind.is_fetch()) {
            let taken = if references[latest].flow.is_elsewhere() { timing.taken } else { 0 };
            let loads = references[latest..].iter().filter(|one| one.kind == Kind::Load).count();
            self.executed.issued = self.now - ISSUE - taken - loads as u64 * timing.load;
        }
        self.executed.instructions += u64::from(instructions);
        self.executed.references += references.len();
        self.by_kind.add(&by_kind);
    }
}
