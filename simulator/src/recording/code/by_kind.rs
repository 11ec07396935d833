//! Counts instructions by group and data access.

use crate::recording::reference::{DataAccess, Group, Reference};

/// The number of instructions of each [`Group`] and [`DataAccess`]. There is one word for each [`Group`]. The word holds a count of
/// `ByKind::BITS` bits for each [`DataAccess`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByKind([u64; Group::COUNT]);

/// The number of instructions by [`DataAccess`] (first index) and [`Group`] (second index).
pub(crate) type InstructionCounts = [[u64; Group::COUNT]; DataAccess::COUNT];

/// The maximum number of references in [`Whole`](crate::recording::references::Whole). With more, the counts of [`ByKind`] could overflow.
pub(crate) const MAX_WHOLE: usize = (1 << 12) - 1;

impl ByKind {
    const BITS: usize = MAX_WHOLE.count_ones() as usize;

    #[inline(always)]
    pub(crate) fn count(&mut self, fetch: &Reference) {
        self.0[fetch.group() as usize] += 1 << (Self::BITS * fetch.data() as usize);
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, more: &Self) {
        for (sum, more) in self.0.iter_mut().zip(more.0) {
            *sum += more;
        }
    }

    #[inline(always)]
    pub(crate) fn subtract(&mut self, less: &Self) {
        for (difference, less) in self.0.iter_mut().zip(less.0) {
            *difference -= less;
        }
    }

    #[cfg(test)]
    pub(crate) fn counts(self) -> InstructionCounts {
        let mut counts = InstructionCounts::default();
        self.add_to(&mut counts);
        counts
    }

    /// Returns the total number of instructions, at most [`MAX_WHOLE`].
    #[inline]
    pub(crate) fn total(self) -> u64 {
        let by_data: u64 = self.0.iter().sum();
        (0..DataAccess::COUNT).map(|data| by_data >> (Self::BITS * data) & MAX_WHOLE as u64).sum()
    }

    /// Adds the counts to `sums`.
    #[inline]
    pub(crate) fn add_to(self, sums: &mut InstructionCounts) {
        self.each(|data, group, count| sums[data][group] += count);
    }

    /// Calls `add` with each count and its indexes in [`InstructionCounts`], but skips words that are 0. Most words are 0, because
    /// most strands execute only a few instructions per turn.
    #[inline]
    pub(crate) fn each(self, mut add: impl FnMut(usize, usize, u64)) {
        for (group, by_data) in self.0.into_iter().enumerate() {
            if by_data != 0 {
                for data in 0..DataAccess::COUNT {
                    add(data, group, by_data >> (Self::BITS * data) & MAX_WHOLE as u64);
                }
            }
        }
    }
}

const _: () = assert!(ByKind::BITS * DataAccess::COUNT <= u64::BITS as usize);
