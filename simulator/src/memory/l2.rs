//! The L2 cache of a node.

use super::config::CacheShape;
use super::figures::Variant;
use super::geometry::L2Line;
use super::marks::Marks;
use super::order::{MOST_WAYS, Order};

/// The MOESI state of a line in an L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum LineState {
    /// Other caches may hold the line. Memory may be stale if another cache owns the line.
    Shared,
    /// No other cache holds the line. Memory is up to date.
    Exclusive,
    /// Other caches may hold the line. Memory is stale, and this cache has to write the line back.
    Owned,
    /// No other cache holds the line. Memory is stale.
    Modified,
}

impl LineState {
    /// Returns `true` if memory is stale and this cache has to write back the line.
    pub(super) fn is_dirty(self) -> bool {
        matches!(self, Self::Owned | Self::Modified)
    }
}

/// The position of a line in the cache. It is valid until the next fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct L2Slot(usize);

impl L2Slot {
    #[inline]
    fn new(set: usize, way: usize) -> Self {
        Self(set * MOST_WAYS + way)
    }

    #[inline]
    fn set(self) -> usize {
        self.0 / MOST_WAYS
    }

    #[inline]
    fn way(self) -> usize {
        self.0 % MOST_WAYS
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) slot: L2Slot,
    pub(super) state: LineState,
    /// The time at which the line arrives; 0 if another line of the set was filled later.
    pub(super) arrives: u64,
}

/// A line that leaves the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) line: L2Line,
    pub(super) state: LineState,
    pub(super) copies: u64,
}

/// The tag that marks a free way. The tags of lines have at most 31 bits.
const FREE: u32 = u32::MAX;

/// A set takes 256 bytes of the host. What a request for a missing line reads is in the first 64 bytes.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Set {
    order: Order,
    marks: Marks,
    /// The time at which the line of the way `filled` arrives.
    arrives: u64,
    /// The way that was filled last.
    filled: u8,
    /// The states of the ways. Ways that the cache does not have stay free.
    states: [LineState; MOST_WAYS],
    tags: [u32; MOST_WAYS],
    /// The L1 copies of each line; see [`super::copies`].
    copies: [u64; MOST_WAYS],
}

impl Set {
    /// Returns the way that has this tag.
    #[inline(always)]
    fn find(&self, tag: u32) -> Option<usize> {
        self.marks.find(tag as u8, |way| self.tags[way] == tag)
    }

    /// Returns the time at which the line of a way arrives; 0 if another way was filled later.
    #[inline(always)]
    fn arrives(&self, way: usize) -> u64 {
        if usize::from(self.filled) == way { self.arrives } else { 0 }
    }
}

/// The L2 cache of a node. It holds every line that an L1 cache of the node holds. It replaces the least recently used line.
#[derive(Clone, Debug)]
pub(super) struct L2<V> {
    variant: V,
    sets: Vec<Set>,
}

impl<V: Variant> L2<V> {
    pub(super) fn new(variant: V) -> Self {
        let shape = variant.figures().l2;
        let set = Set {
            order: Order::new(shape.ways),
            marks: Marks::default(),
            arrives: 0,
            filled: 0,
            states: [LineState::Shared; MOST_WAYS],
            tags: [FREE; MOST_WAYS],
            copies: [0; MOST_WAYS],
        };
        Self { variant, sets: vec![set; shape.sets()] }
    }

    #[inline(always)]
    fn shape(&self) -> &CacheShape {
        &self.variant.figures().l2
    }

    #[inline(always)]
    pub(super) fn find(&self, line: L2Line) -> Option<L2Slot> {
        let (index, tag) = self.shape().place(line.0);
        Some(L2Slot::new(index, self.sets[index].find(tag)?))
    }

    #[inline(always)]
    pub(super) fn hit(&mut self, line: L2Line) -> Option<Hit> {
        let (index, tag) = self.shape().place(line.0);
        let set = &mut self.sets[index];
        let mut way = set.order.latest();
        if set.tags[way] != tag {
            way = set.find(tag)?;
            set.order.renew(way);
        }
        Some(Hit {
            slot: L2Slot::new(index, way),
            state: set.states[way],
            arrives: set.arrives(way),
        })
    }

    /// Returns when a line arrives, like [`hit`](Self::hit), but only for a line that is modified, is the most recently used of its set, and
    /// has none of the `copies`; otherwise `None`.
    #[inline(always)]
    pub(super) fn own(&self, line: L2Line, copies: u64) -> Option<u64> {
        let (index, tag) = self.shape().place(line.0);
        let set = &self.sets[index];
        let way = set.order.latest();
        let is_own = set.tags[way] == tag
            && set.states[way] == LineState::Modified
            && set.copies[way] & copies == 0;
        is_own.then(|| set.arrives(way))
    }

    #[inline(always)]
    pub(super) fn state(&self, slot: L2Slot) -> LineState {
        self.sets[slot.set()].states[slot.way()]
    }

    #[inline(always)]
    pub(super) fn set_state(&mut self, slot: L2Slot, state: LineState) {
        self.sets[slot.set()].states[slot.way()] = state;
    }

    /// Returns the L1 copies of a line; see [`super::copies`].
    #[inline(always)]
    pub(super) fn copies(&mut self, slot: L2Slot) -> &mut u64 {
        &mut self.sets[slot.set()].copies[slot.way()]
    }

    /// Adds a missing line in place of the least recently used line of its set. The new line arrives at the time `arrives`.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        line: L2Line,
        state: LineState,
        arrives: u64,
    ) -> (L2Slot, Option<Victim>) {
        let shape = *self.shape();
        let (index, tag) = shape.place(line.0);
        let set = &mut self.sets[index];
        let way = set.order.reuse(shape.ways);
        let old = std::mem::replace(&mut set.tags[way], tag);
        let victim = Victim {
            line: L2Line(shape.line(index, old)),
            state: std::mem::replace(&mut set.states[way], state),
            copies: std::mem::take(&mut set.copies[way]),
        };
        set.marks.set(way, tag as u8);
        (set.filled, set.arrives) = (way as u8, arrives);
        (L2Slot::new(index, way), (old != FREE).then_some(victim))
    }

    /// Removes a line. Its way will be the next of its set to be filled. Returns the L1 copies of the line.
    pub(super) fn remove(&mut self, slot: L2Slot) -> u64 {
        let ways = self.shape().ways;
        let set = &mut self.sets[slot.set()];
        set.order.retire(slot.way(), ways);
        set.tags[slot.way()] = FREE;
        std::mem::take(&mut set.copies[slot.way()])
    }

    #[cfg(test)]
    pub(super) fn lines(&self) -> impl Iterator<Item = (L2Line, LineState)> {
        self.sets.iter().enumerate().flat_map(move |(index, set)| {
            let entries = set.tags.iter().zip(set.states);
            entries
                .filter(|(tag, _)| **tag != FREE)
                .map(move |(tag, state)| (L2Line(self.shape().line(index, *tag)), state))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::figures::T2Plus;

    /// Returns the line of set 5 that is number `n` in this set.
    fn line(n: u64) -> L2Line {
        L2Line(5 + 4096 * n)
    }

    #[test]
    fn the_least_recently_used_line_goes() {
        let mut cache = L2::new(T2Plus);
        for n in 0..16 {
            let (slot, victim) = cache.fill(line(n), LineState::Exclusive, 0);
            assert!(victim.is_none(), "{n}");
            *cache.copies(slot) = n;
        }
        let first = cache.hit(line(0)).unwrap().slot;
        let (_, victim) = cache.fill(line(16), LineState::Modified, 0);
        let victim = victim.unwrap();
        assert_eq!((victim.line, victim.copies), (line(1), 1));
        assert_eq!(victim.state, LineState::Exclusive);
        assert_eq!(cache.find(line(1)), None);
        assert_eq!(cache.state(cache.find(line(16)).unwrap()), LineState::Modified);
        assert_eq!(*cache.copies(first), 0);
        assert_eq!(cache.lines().count(), 16);
    }

    #[test]
    fn a_line_that_is_taken_leaves_room() {
        let mut cache = L2::new(T2Plus);
        for n in 0..16 {
            cache.fill(line(n), LineState::Owned, 0);
        }
        let slot = cache.find(line(7)).unwrap();
        *cache.copies(slot) = 3;
        assert_eq!(cache.remove(slot), 3);
        assert_eq!(cache.find(line(7)), None);
        assert!(cache.fill(line(20), LineState::Shared, 0).1.is_none());
        let slot = cache.find(line(20)).unwrap();
        assert_eq!(*cache.copies(slot), 0);
    }
}
