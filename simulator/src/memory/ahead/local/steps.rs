//! Executes a strand's shapes step by step. A *shape* is one of the ways in which a block of the program's code can execute.

use super::{Local, NO_LINE, StopReason, StoreAhead, line};
use crate::memory::figures::Variant;
use crate::memory::timing::ISSUE;
use crate::recording::{Done, Kind, Part, Reference, ShapeStep, StepAction};

impl<V: Variant, const WATCHED: bool> Local<'_, '_, V, WATCHED> {
    /// Executes a part of a shape step by step.
    #[inline(always)]
    pub(super) fn steps(&mut self, part: &Part<'_>, steps: &[ShapeStep], done: Done) -> StopReason {
        let (timing, shape) = (&self.ahead.figures().timing, part.shape);
        // The time at which the shape would have begun if it had executed from its start without stalls.
        let begins = self.now.wrapping_sub(timing.elapsed(&done));
        if part.first > 0 && !self.fetch_lines(&part.references[0]) {
            return StopReason::Blocked;
        }
        let mut data = part.data[part.first - usize::from(done.begun)..].iter();
        let mut steps = steps.iter();
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
                    self.count(&part.references[..usize::from(step.next) - part.first]);
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
            self.count(&part.references[..stops - part.first]);
            return StopReason::Blocked;
        }
        self.now = begins.wrapping_add(timing.elapsed(&shape.done));
        self.fetched = NO_LINE;
        if part.first > 0 {
            self.count(part.references);
            return StopReason::None;
        }
        self.executed.issued = begins.wrapping_add(timing.issued(&shape.done));
        self.executed.references += part.references.len();
        self.executed.instructions += u64::from(shape.done.begun);
        self.by_kind.add(&shape.by_kind);
        StopReason::None
    }

    /// Counts executed references. The first one begins an instruction, and the last one ends at the current time.
    #[inline(always)]
    fn count(&mut self, references: &[Reference]) {
        let timing = &self.ahead.figures().timing;
        let mut loads = 0;
        let mut latest = None;
        for reference in references {
            if reference.kind.is_fetch() {
                self.count_instruction(reference);
                (latest, loads) = (Some(reference), 0);
            } else {
                loads += u64::from(reference.kind == Kind::Load);
            }
        }
        if let Some(latest) = latest {
            let taken = if latest.flow.is_elsewhere() { timing.taken } else { 0 };
            self.executed.issued = self.now - ISSUE - taken - loads * timing.load;
        }
        self.executed.references += references.len();
    }
}
