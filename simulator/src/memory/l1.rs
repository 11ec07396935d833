//! A core's instruction cache or data cache.

use std::fmt::Debug;

use super::config::CacheShape;

/// The tags of a cache, set by set.
pub trait Sets: Clone + Debug {
    /// The tags of one set, one for each way.
    type Set: AsMut<[u32]> + ?std::marker::Sized;

    /// Creates the sets of a cache of this shape, all empty.
    fn new(shape: &CacheShape) -> Self;

    /// Returns a line's set, and the line's tag in that set.
    fn set(&mut self, line: u64) -> (&mut Self::Set, u32);
}

/// Sets whose number and size are known at compile time.
#[derive(Clone, Debug)]
pub struct FixedSets<const SETS: usize, const WAYS: usize>([[u32; WAYS]; SETS]);

impl<const SETS: usize, const WAYS: usize> Sets for FixedSets<SETS, WAYS> {
    type Set = [u32; WAYS];

    fn new(_: &CacheShape) -> Self {
        Self([[FREE; WAYS]; SETS])
    }

    #[inline(always)]
    fn set(&mut self, line: u64) -> (&mut Self::Set, u32) {
        (&mut self.0[line as usize % SETS], (line / SETS as u64) as u32)
    }
}

/// Sets whose number and size are known only at run time.
#[derive(Clone, Debug)]
pub struct AnySets {
    shape: CacheShape,
    tags: Box<[u32]>,
}

impl Sets for AnySets {
    type Set = [u32];

    fn new(shape: &CacheShape) -> Self {
        Self { shape: *shape, tags: vec![FREE; shape.sets() * shape.ways].into() }
    }

    #[inline(always)]
    fn set(&mut self, line: u64) -> (&mut Self::Set, u32) {
        let (set, tag) = self.shape.set_and_tag(line);
        let ways = self.shape.ways;
        (&mut self.tags[set * ways..][..ways], tag)
    }
}

/// A cache. In each set, the most recently used way is first, and free ways are last, so replacement is exactly LRU and most hits
/// need one comparison.
#[derive(Clone, Debug)]
pub(super) struct L1<S>(S);

/// The tag of a free way. A line's tag has at most 31 bits.
const FREE: u32 = u32::MAX;

impl<S: Sets> L1<S> {
    pub(super) fn new(shape: &CacheShape) -> Self {
        Self(S::new(shape))
    }

    /// Uses a line if the cache has it: the line becomes the most recently used one of its set. Returns whether the cache has the
    /// line.
    #[inline(always)]
    pub(super) fn touch(&mut self, line: u64) -> bool {
        self.renew(line, |_| {})
    }

    /// Returns `true` if the line is the most recently used line of its set.
    #[inline(always)]
    pub(super) fn is_latest(&mut self, line: u64) -> bool {
        let (set, tag) = self.0.set(line);
        set.as_mut()[0] == tag
    }

    /// Makes a line the most recently used one of its set. Returns the line's previous position in the order of use; `None` if the
    /// cache lacks the line.
    fn renew_older(set: &mut S::Set, tag: u32) -> Option<usize> {
        let set = set.as_mut();
        // Each swap moves a line to the next way, until the requested line is found.
        for way in 1..set.len() {
            set.swap(0, way);
            if set[0] == tag {
                return Some(way);
            }
        }
        let last = set[0];
        set.copy_within(1.., 0);
        set[set.len() - 1] = last;
        None
    }

    /// Uses a line like [`touch`](Self::touch). If the line was not the most recently used one of its set, passes its position in
    /// the order of use to `note`. If the cache lacks the line, changes nothing.
    #[inline(always)]
    pub(super) fn renew(&mut self, line: u64, note: impl FnOnce(usize)) -> bool {
        let (set, tag) = self.0.set(line);
        set.as_mut()[0] == tag || Self::renew_older(set, tag).map(note).is_some()
    }

    /// Undoes the latest [`renew`](Self::renew), which noted the position `from`.
    pub(super) fn unrenew(&mut self, line: u64, from: usize) {
        let (set, _) = self.0.set(line);
        set.as_mut()[..=from].rotate_left(1);
    }

    /// Returns `true` if the cache has the line. Does not change the order of use.
    pub(super) fn has(&mut self, line: u64) -> bool {
        let (set, tag) = self.0.set(line);
        set.as_mut().contains(&tag)
    }

    /// Returns `true` if two lines belong to the same set.
    pub(super) fn share_set(&mut self, one: u64, other: u64) -> bool {
        let first = self.0.set(one).0.as_mut().as_ptr();
        first == self.0.set(other).0.as_mut().as_ptr()
    }

    /// Adds a missing line in place of the least recently used line of its set.
    pub(super) fn fill(&mut self, line: u64) {
        let (set, tag) = self.0.set(line);
        let set = set.as_mut();
        set.copy_within(..set.len() - 1, 1);
        set[0] = tag;
    }

    pub(super) fn remove(&mut self, line: u64) {
        let (set, tag) = self.0.set(line);
        let set = set.as_mut();
        if let Some(way) = set.iter().position(|entry| *entry == tag) {
            // The lines behind the removed one, which were used earlier, each move forward by one way.
            let last = set.len() - 1;
            for way in way..last {
                set[way] = set[way + 1];
            }
            set[last] = FREE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::config::Cache;

    const SHAPE: CacheShape = CacheShape::new(&Cache { bytes: 256, ways: 4, line: 16 });

    /// Returns a cache with lines 0, 4, 8 and 12, which share set 0.
    fn full<S: Sets>() -> L1<S> {
        let mut cache = L1::new(&SHAPE);
        for line in [0, 4, 8, 12] {
            assert!(!cache.touch(line));
            cache.fill(line);
        }
        cache
    }

    fn the_least_recently_used_line_is_replaced<S: Sets>() {
        let mut cache = full::<S>();
        assert!(cache.touch(0));
        assert!(cache.touch(8));
        cache.fill(16);
        assert!(!cache.has(4));
        cache.fill(20);
        assert!(!cache.has(12));
        assert!(cache.has(0) && cache.has(8) && cache.has(16) && cache.has(20));
    }

    fn a_removed_line_leaves_room<S: Sets>() {
        let mut cache = full::<S>();
        cache.remove(8);
        cache.remove(24);
        assert!(!cache.touch(8));
        cache.fill(16);
        assert!(cache.has(0) && cache.has(4) && cache.has(12) && cache.has(16));
        cache.fill(20);
        assert!(!cache.has(0));
    }

    fn sets_do_not_meet<S: Sets>() {
        let mut cache = full::<S>();
        for line in [1, 2, 3, 5] {
            cache.fill(line);
        }
        assert!([0, 4, 8, 12, 1, 2, 3, 5].map(|line| cache.has(line)) == [true; 8]);
    }

    #[test]
    fn constant_sets() {
        the_least_recently_used_line_is_replaced::<FixedSets<4, 4>>();
        a_removed_line_leaves_room::<FixedSets<4, 4>>();
        sets_do_not_meet::<FixedSets<4, 4>>();
    }

    #[test]
    fn sets_of_any_shape() {
        the_least_recently_used_line_is_replaced::<AnySets>();
        a_removed_line_leaves_room::<AnySets>();
        sets_do_not_meet::<AnySets>();
    }
}
