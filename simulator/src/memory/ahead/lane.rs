//! The references of a strand that runs ahead.

use guest_abi::StrandId;

use crate::recording::{ByKind, Part, References};

/// A strand's next references while its core runs ahead. Turns are short and frequent, so the lane keeps what each turn would
/// otherwise have to look up.
pub(crate) struct Lane<'a> {
    pub(crate) strand: StrandId,
    /// The offset that is added to every address of the strand's program.
    pub(crate) offset: u64,
    /// The references from the start of `part` on.
    pub(super) references: References<'a>,
    /// The part that the strand is executing.
    pub(super) part: Part<'a>,
    /// The number of instructions that the strand has executed, by kind.
    pub(super) by_kind: ByKind,
}

impl<'a> Lane<'a> {
    /// Returns a lane with a strand's next references; `None` if there are none.
    #[inline(always)]
    pub(crate) fn new(strand: StrandId, offset: u64, references: References<'a>) -> Option<Self> {
        let by_kind = ByKind::default();
        (!references.is_empty()).then(|| Self {
            strand,
            offset,
            references,
            part: references.part(),
            by_kind,
        })
    }

    /// Returns `true` if no references are left.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.references.is_empty()
    }

    /// Skips the first `passed` references of the part.
    #[inline(always)]
    pub(super) fn pass(&mut self, passed: usize) {
        if passed < self.part.references.len() {
            return self.part.skip(passed);
        }
        self.references.skip_part_of(self.part.shape);
        match self.references.is_empty() {
            true => self.part.skip(passed),
            false => self.part = self.references.part(),
        }
    }
}
