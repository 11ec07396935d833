//! A cache of a core.

use std::array;

/// Tags, set by set. Within a set the most recently used way is the first, so that replacement is exact LRU and
/// most hits need one comparison. Free ways are the last ones.
#[derive(Clone, Debug)]
pub(super) struct L1<const SETS: usize, const WAYS: usize> {
    sets: [[u32; WAYS]; SETS],
}

/// Tags have 28 bits.
const FREE: u32 = u32::MAX;

impl<const SETS: usize, const WAYS: usize> L1<SETS, WAYS> {
    pub(super) fn new() -> Self {
        Self {
            sets: [[FREE; WAYS]; SETS],
        }
    }

    /// Returns `true` if the cache has the line, and makes it the most recently used of its set.
    #[inline(always)]
    pub(super) fn touch(&mut self, line: u64) -> bool {
        let (set, tag) = self.set(line);
        set[0] == tag || Self::touch_older(set, tag)
    }

    /// Returns `true` if the line is the most recently used of its set.
    #[inline(always)]
    pub(super) fn is_latest(&mut self, line: u64) -> bool {
        let (set, tag) = self.set(line);
        set[0] == tag
    }

    fn touch_older(set: &mut [u32; WAYS], tag: u32) -> bool {
        // The line in each way goes to the next way, up to where the line was.
        for way in 1..WAYS {
            set.swap(0, way);
            if set[0] == tag {
                return true;
            }
        }
        *set = array::from_fn(|way| set[(way + 1) % WAYS]);
        false
    }

    /// Returns `true` if the cache has the line. Changes nothing.
    #[cfg(test)]
    pub(super) fn has(&self, line: u64) -> bool {
        self.sets[line as usize % SETS].contains(&((line / SETS as u64) as u32))
    }

    /// Takes in a line that it does not have, in place of the least recently used one.
    pub(super) fn fill(&mut self, line: u64) {
        let (set, tag) = self.set(line);
        set.copy_within(..WAYS - 1, 1);
        set[0] = tag;
    }

    /// Removes a line if the cache has it.
    pub(super) fn remove(&mut self, line: u64) {
        let (set, tag) = self.set(line);
        if let Some(way) = set.iter().position(|entry| *entry == tag) {
            set[way..].rotate_left(1);
            set[WAYS - 1] = FREE;
        }
    }

    #[inline(always)]
    fn set(&mut self, line: u64) -> (&mut [u32; WAYS], u32) {
        (
            &mut self.sets[line as usize % SETS],
            (line / SETS as u64) as u32,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines 0, 4, 8 and 12 share set 0.
    fn full() -> L1<4, 4> {
        let mut cache = L1::new();
        for line in [0, 4, 8, 12] {
            assert!(!cache.touch(line));
            cache.fill(line);
        }
        cache
    }

    #[test]
    fn the_least_recently_used_line_goes() {
        let mut cache = full();
        assert!(cache.touch(0));
        assert!(cache.touch(8));
        cache.fill(16);
        assert!(!cache.has(4));
        cache.fill(20);
        assert!(!cache.has(12));
        assert!(cache.has(0) && cache.has(8) && cache.has(16) && cache.has(20));
    }

    #[test]
    fn a_removed_line_leaves_room() {
        let mut cache = full();
        cache.remove(8);
        cache.remove(24);
        assert!(!cache.touch(8));
        cache.fill(16);
        assert!(cache.has(0) && cache.has(4) && cache.has(12) && cache.has(16));
        cache.fill(20);
        assert!(!cache.has(0));
    }

    #[test]
    fn sets_do_not_meet() {
        let mut cache = full();
        for line in [1, 2, 3, 5] {
            cache.fill(line);
        }
        assert!([0, 4, 8, 12, 1, 2, 3, 5].map(|line| cache.has(line)) == [true; 8]);
    }
}
