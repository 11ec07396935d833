//! Finds a line in a set of an L2 cache in few steps.

use super::order::MOST_WAYS;

/// A byte for each way of a set: the low bits of the tag that the way had last. Eight ways are compared at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks([u64; MOST_WAYS / WAYS]);

/// The number of ways in a word.
const WAYS: usize = 8;

const ONES: u64 = 0x0101_0101_0101_0101;

impl Marks {
    /// Returns a way that has this mark and for which `is_it` returns `true`.
    #[inline(always)]
    pub(super) fn find(&self, mark: u8, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        for (number, marks) in self.0.iter().enumerate() {
            // XOR turns the bytes that equal the mark into 0. The subtraction flags the bytes that are 0, and sometimes bytes above such
            // a byte.
            let others = marks ^ (u64::from(mark) * ONES);
            let mut zeros = others.wrapping_sub(ONES) & !others & (0x80 * ONES);
            while zeros != 0 {
                let way = WAYS * number + zeros.trailing_zeros() as usize / WAYS;
                if is_it(way) {
                    return Some(way);
                }
                zeros &= zeros - 1;
            }
        }
        None
    }

    /// Changes the mark of a way.
    #[inline(always)]
    pub(super) fn set(&mut self, way: usize, mark: u8) {
        let (marks, shift) = (&mut self.0[way / WAYS], way % WAYS * 8);
        *marks = *marks & !(0xff << shift) | u64::from(mark) << shift;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_a_list(
            changes in prop::collection::vec((0..MOST_WAYS, 0..4_u8), 0..40),
            mark in 0..4_u8,
            right in any::<u16>(),
        ) {
            let (mut marks, mut list) = (Marks::default(), [0; MOST_WAYS]);
            for (way, mark) in changes {
                // 0, 0x80 and 0x81 differ in the bits that the subtraction borrows.
                let mark = [0, 1, 0x80, 0x81][usize::from(mark)];
                marks.set(way, mark);
                list[way] = mark;
            }
            let mark = [0, 1, 0x80, 0x81][usize::from(mark)];
            let is_it = |way: usize| right >> way & 1 == 1;
            let way = (0..MOST_WAYS).find(|way| list[*way] == mark && is_it(*way));
            prop_assert_eq!(marks.find(mark, is_it), way);
        }
    }
}
