//! Speeds up the search for a line in the L2 caches.

use guest_abi::Node;

use super::order::MAX_WAYS;

/// The *marks* of a set: one byte for each way of the set in the L2 caches of all nodes. The mark of a way that holds a line is the
/// low byte of the line's tag, or 1 if that byte is 0; an empty way has the mark 0. A search for a line looks only at the tags whose marks match, and so skips most other ways. A set's
/// marks are in one line of the host's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Marks([[u8; MAX_WAYS]; Node::ALL.len()]);

/// The mark of a way without a line.
pub(super) const FREE: u8 = 0;

/// Returns the mark for a tag: any byte but [`FREE`].
#[inline(always)]
pub(super) fn mark(tag: u32) -> u8 {
    (tag as u8).max(FREE + 1)
}

/// The number of ways that one step compares.
const WAYS: usize = 8;

const ONES: u64 = 0x0101_0101_0101_0101;

impl Marks {
    /// Returns the marks of free ways.
    pub(super) const fn new() -> Self {
        Self([[FREE; MAX_WAYS]; Node::ALL.len()])
    }

    /// Returns `true` if a way of any node has this mark.
    #[inline(always)]
    pub(super) fn any(&self, mark: u8) -> bool {
        // There is no early exit, so the compiler can compare 16 ways in one step.
        self.0.as_flattened().iter().fold(false, |any, other| any | (*other == mark))
    }

    /// Returns the way of node number `node` that has the mark `mark` and for which `is_it` returns `true`. Calls `is_it` only for
    /// ways that have this mark, and for a few others.
    #[inline(always)]
    pub(super) fn find(
        &self,
        node: usize,
        mark: u8,
        is_it: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        for (number, marks) in self.0[node].as_chunks::<WAYS>().0.iter().enumerate() {
            // XOR turns each byte that equals the mark into 0. The subtraction flags the bytes that are 0, and sometimes also bytes
            // above them.
            let others = u64::from_le_bytes(*marks) ^ (u64::from(mark) * ONES);
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

    /// Changes the mark of a node's way.
    #[inline(always)]
    pub(super) fn set(&mut self, node: usize, way: usize, mark: u8) {
        self.0[node][way] = mark;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_tag_has_the_mark_of_a_free_way() {
        assert!((0..=0x200).all(|tag| mark(tag) != FREE));
    }

    proptest! {
        #[test]
        fn matches_a_list(
            changes in prop::collection::vec((0..MAX_WAYS, 0..4_usize), 0..40),
            number in 0..4_usize,
            right in any::<u16>(),
        ) {
            // These bytes differ in the bits that the subtraction's borrows reach.
            let all = [0, 1, 0x80, 0x81];
            let (mut marks, mut list) = (Marks::new(), [FREE; MAX_WAYS]);
            for (way, number) in changes {
                marks.set(2, way, all[number]);
                list[way] = all[number];
            }
            let is_it = |way: usize| list[way] == all[number] && right >> way & 1 == 1;
            let way = (0..MAX_WAYS).find(|way| is_it(*way));
            prop_assert_eq!(marks.find(2, all[number], is_it), way);
            prop_assert_eq!(marks.any(all[number]), number == 0 || list.contains(&all[number]));
        }
    }
}
