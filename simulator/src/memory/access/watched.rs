//! Tells a watch (an observer) what a strand's references do.

use super::Access;
use crate::memory::figures::Variant;
use crate::memory::geometry::LINE_SHIFT;
use crate::memory::moves::MovedLines;
use crate::memory::watch::Watch;
use crate::recording::{FETCH_SHIFT, Reference, Shape, ShapeStep, StepAction, Whole};

impl<V: Variant> Access<'_, V> {
    /// Executes a [reference](Self::reference), and tells `watch` what it does.
    #[inline(always)]
    pub(in crate::memory) fn watched_reference<W: Watch>(
        &mut self,
        reference: &Reference,
        watch: &mut W,
    ) {
        self.reference(reference);
        if W::WATCHES {
            if reference.kind.is_fetch() {
                watch.begins(reference.address);
            }
            self.report(reference, watch);
        }
    }

    /// Tells `watch` of an executed reference if the reference requested lines from the L2 cache, or if it may have used a line
    /// that has moved between nodes.
    #[inline(always)]
    pub(in crate::memory) fn report<W: Watch>(&mut self, reference: &Reference, watch: &mut W) {
        if self.has_unreported() || self.may_have_moved(reference.address, reference.size) {
            self.report_pending(reference, watch);
        }
    }

    #[inline(never)]
    fn report_pending<W: Watch>(&mut self, reference: &Reference, watch: &mut W) {
        if let Some(unreported) =
            self.unreported.as_mut().filter(|unreported| unreported.has_request)
        {
            watch.waited(reference, self.now, &unreported.served, unreported.cycles);
            **unreported = Default::default();
        }
        if self.may_have_moved(reference.address, reference.size)
            && let Some(moved) = &self.moves
        {
            watch.used(reference, moved);
        }
    }

    #[inline(always)]
    fn has_unreported(&self) -> bool {
        self.unreported.as_ref().is_some_and(|unreported| unreported.has_request)
    }

    /// Returns `true` if a line of these bytes may have moved between nodes, and `false` if none has.
    #[inline(always)]
    fn may_have_moved(&self, address: u64, size: u16) -> bool {
        let Some(moved) = &self.moves else { return false };
        moved.may_have_any(address.wrapping_add(self.offset), size)
    }

    /// Tells `watch` of a shape's step that changed no cache and caused no wait. `moved` is the number of lines that have
    /// [moved](Self::moved) between nodes.
    #[inline(always)]
    pub(super) fn report_quick_step<W: Watch>(
        &self,
        (whole, shape, step): (&Whole<'_>, &Shape, &ShapeStep),
        address: u64,
        moved: usize,
        watch: &mut W,
    ) {
        let is_store = step.action == StepAction::Store;
        if moved == 0 && !is_store {
            return;
        }
        // The step uses a single line.
        let may_have = |moves: &MovedLines| moves.may_have(address.wrapping_add(self.offset));
        let may_have_moved = moved > 0 && self.moves.as_ref().is_some_and(may_have);
        if !is_store && !may_have_moved {
            return;
        }
        let instruction = shape.address.wrapping_add_signed(step.offset.into());
        if is_store {
            watch.stored(instruction);
        }
        if may_have_moved && let Some(moved) = &self.moves {
            watch.begins(instruction);
            watch.used(&whole.reference(shape, step, address), moved);
        }
    }

    /// Tells `watch` of a step's reference. The step must not have been reported by [`report_quick_step`](Self::report_quick_step). `address`
    /// is the address of the reference's data.
    #[inline(always)]
    pub(super) fn report_step<W: Watch>(
        &mut self,
        (whole, shape, step): (&Whole<'_>, &Shape, &ShapeStep),
        address: u64,
        watch: &mut W,
    ) {
        if step.action == StepAction::Fetch && !self.has_unreported() {
            return;
        }
        if self.has_unreported() || self.may_have_moved(address, step.further + 1) {
            watch.begins(whole.instruction(shape, step.next.into()));
            self.report_pending(&whole.reference(shape, step, address), watch);
        }
    }

    /// Returns the number of lines that are known to have moved between nodes.
    #[inline(always)]
    pub(super) fn moved(&self) -> usize {
        self.moves.as_ref().map_or(0, |moved| moved.len())
    }

    /// Returns whether a shape has instructions in lines that have moved between nodes.
    #[inline(always)]
    pub(super) fn has_moved_code(&self, shape: &Shape, steps: &[ShapeStep]) -> bool {
        let Some(moved) = self.moves.as_ref().filter(|moved| moved.len() > 0) else {
            return false;
        };
        let first = shape.address.wrapping_add(self.offset);
        let mut fetches = steps.iter().filter(|step| step.action == StepAction::Fetch);
        fetches.any(|fetch| moved.has(first.wrapping_add_signed(fetch.offset.into())))
    }
}

// A fetch step lies in one line.
const _: () = assert!(FETCH_SHIFT <= LINE_SHIFT);
