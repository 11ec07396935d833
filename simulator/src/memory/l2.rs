//! The L2 caches of all nodes.

use guest_abi::Node;

use super::config::CacheShape;
use super::figures::Variant;
use super::geometry::L2Line;
use super::marks::{self, Marks, mark};
use super::order::{MAX_WAYS, Order};

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
    /// Returns `true` if memory is stale and this cache has to write the line back.
    pub(super) fn is_dirty(self) -> bool {
        matches!(self, Self::Owned | Self::Modified)
    }
}

/// The position of a line in the caches: its set's index, and its way. It is valid until the next fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct L2Slot(usize);

impl L2Slot {
    #[inline]
    fn new(set: usize, way: usize) -> Self {
        Self(set * MAX_WAYS + way)
    }

    #[inline]
    fn set(self) -> usize {
        self.0 / MAX_WAYS
    }

    #[inline]
    fn way(self) -> usize {
        self.0 % MAX_WAYS
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) slot: L2Slot,
    pub(super) state: LineState,
    /// The time at which the line arrives, if it is the line of its set that was filled last; otherwise 0.
    pub(super) arrives: u64,
    /// The L1 copies of the line; see [`super::copies`].
    pub(super) copies: u64,
}

/// A line that leaves the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) line: L2Line,
    pub(super) state: LineState,
    pub(super) copies: u64,
}

/// The tag of a free way. A line's tag has at most 31 bits.
const FREE: u32 = u32::MAX;

/// A set of a node's cache. It takes 256 bytes of the host's memory.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set {
    order: Order,
    /// The time at which the line in the way `filled` arrives.
    arrives: u64,
    /// The way that was filled last.
    filled: u8,
    /// The states of the ways. A smaller cache leaves its unused ways free.
    states: [LineState; MAX_WAYS],
    tags: [u32; MAX_WAYS],
    /// The L1 copies of each line; see [`super::copies`].
    copies: [u64; MAX_WAYS],
}

impl Set {
    /// Returns the time at which a way's line arrives, if the way was filled last; otherwise 0.
    #[inline(always)]
    fn arrives(&self, way: usize) -> u64 {
        if usize::from(self.filled) == way { self.arrives } else { 0 }
    }
}

/// The L2 caches of all nodes. A node's L2 cache holds every line that any of the node's L1 caches holds. Each set replaces its
/// least recently used line.
#[derive(Clone, Debug)]
pub(super) struct L2Caches<V> {
    variant: V,
    /// The sets of all nodes, node by node.
    sets: Vec<Set>,
    /// For each set, the marks of its ways in all nodes.
    marks: Vec<Marks>,
}

impl<V: Variant> L2Caches<V> {
    pub(super) fn new(variant: V, nodes: usize) -> Self {
        let shape = variant.figures().l2;
        let set = Set {
            order: Order::new(shape.ways),
            arrives: 0,
            filled: 0,
            states: [LineState::Shared; MAX_WAYS],
            tags: [FREE; MAX_WAYS],
            copies: [0; MAX_WAYS],
        };
        let sets = vec![set; nodes * shape.sets()];
        Self { variant, sets, marks: vec![Marks::new(); shape.sets()] }
    }

    #[inline(always)]
    fn shape(&self) -> &CacheShape {
        &self.variant.figures().l2
    }

    /// Returns the index of a node's set.
    #[inline(always)]
    fn index(&self, node: Node, set: usize) -> usize {
        node.index() * self.shape().sets() + set
    }

    /// Returns `false` if no node has a line. If the result is `true`, a node usually has the line, but not always.
    #[inline(always)]
    pub(super) fn may_have(&self, line: L2Line) -> bool {
        let (set, tag) = self.shape().set_and_tag(line.0);
        self.marks[set].any(mark(tag))
    }

    /// Returns a line's slot in a node's cache.
    #[inline(always)]
    pub(super) fn find(&self, node: Node, line: L2Line) -> Option<L2Slot> {
        let (set, tag) = self.shape().set_and_tag(line.0);
        let index = self.index(node, set);
        let tags = &self.sets[index].tags;
        let way = self.marks[set].find(node.index(), mark(tag), |way| tags[way] == tag)?;
        Some(L2Slot::new(index, way))
    }

    /// Uses a line if a node's cache has it: the line becomes the most recently used one of its set, and gets the L1 copy `copy`,
    /// or none if `copy` is 0.
    #[inline(always)]
    pub(super) fn hit(&mut self, node: Node, line: L2Line, copy: u64) -> Option<Hit> {
        let (set, tag) = self.shape().set_and_tag(line.0);
        let index = self.index(node, set);
        let Set { tags, order, .. } = &mut self.sets[index];
        let mut way = order.latest();
        if tags[way] != tag {
            way = self.marks[set].find(node.index(), mark(tag), |way| tags[way] == tag)?;
            order.renew(way);
        }
        let set = &mut self.sets[index];
        set.copies[way] |= copy;
        Some(Hit {
            slot: L2Slot::new(index, way),
            state: set.states[way],
            arrives: set.arrives(way),
            copies: set.copies[way],
        })
    }

    /// Returns the time at which a line arrives, if the line is modified, is the most recently used one of its set, and has none of
    /// the L1 copies in `copies`. Otherwise returns `None`. Unlike [`hit`](Self::hit), changes nothing.
    #[inline(always)]
    pub(super) fn modified_arrival(&self, node: Node, line: L2Line, copies: u64) -> Option<u64> {
        let (set, tag) = self.shape().set_and_tag(line.0);
        let set = &self.sets[self.index(node, set)];
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

    /// Adds a missing line to a node's cache, in place of the least recently used line of its set. `copy` is the bit of the new
    /// line's L1 copy, or 0 for none. The line arrives at the time `arrives`. Returns the line that leaves the cache.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        node: Node,
        line: L2Line,
        state: LineState,
        copy: u64,
        arrives: u64,
    ) -> Option<Victim> {
        let shape = *self.shape();
        let (number, tag) = shape.set_and_tag(line.0);
        let index = self.index(node, number);
        let set = &mut self.sets[index];
        let way = set.order.reuse(shape.ways);
        let old = std::mem::replace(&mut set.tags[way], tag);
        let victim = Victim {
            line: L2Line(shape.line(number, old)),
            state: std::mem::replace(&mut set.states[way], state),
            copies: std::mem::replace(&mut set.copies[way], copy),
        };
        self.marks[number].set(node.index(), way, mark(tag));
        (set.filled, set.arrives) = (way as u8, arrives);
        (old != FREE).then_some(victim)
    }

    /// Removes a line from a node's cache. The next line that is added to the set takes the free way. Returns the removed line's L1
    /// copies.
    pub(super) fn remove(&mut self, node: Node, slot: L2Slot) -> u64 {
        let CacheShape { ways, .. } = *self.shape();
        let sets = self.shape().sets();
        let set = &mut self.sets[slot.set()];
        set.order.retire(slot.way(), ways);
        set.tags[slot.way()] = FREE;
        self.marks[slot.set() % sets].set(node.index(), slot.way(), marks::FREE);
        std::mem::take(&mut set.copies[slot.way()])
    }

    /// Returns all lines, each with the node whose cache holds it.
    #[cfg(test)]
    pub(super) fn lines(&self) -> impl Iterator<Item = (Node, L2Line, LineState)> {
        self.sets.iter().enumerate().flat_map(move |(index, set)| {
            let sets = self.shape().sets();
            let (node, number) = (Node::ALL[index / sets], index % sets);
            let entries = set.tags.iter().zip(set.states);
            entries
                .filter(|(tag, _)| **tag != FREE)
                .map(move |(tag, state)| (node, L2Line(self.shape().line(number, *tag)), state))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::figures::T2Plus;

    const NODE: Node = Node::Node1;

    /// Returns the `n`th line of set 5, counted from 0.
    fn line(n: u64) -> L2Line {
        L2Line(5 + 4096 * n)
    }

    #[test]
    fn the_least_recently_used_line_is_replaced() {
        let mut cache = L2Caches::new(T2Plus, 2);
        for n in 0..16 {
            let victim = cache.fill(NODE, line(n), LineState::Exclusive, n, 0);
            assert!(victim.is_none(), "{n}");
        }
        let hit = cache.hit(NODE, line(0), 0).unwrap();
        assert_eq!((hit.state, hit.copies), (LineState::Exclusive, 0));
        let victim = cache.fill(NODE, line(16), LineState::Modified, 0, 0).unwrap();
        assert_eq!((victim.line, victim.copies), (line(1), 1));
        assert_eq!(victim.state, LineState::Exclusive);
        assert_eq!(cache.find(NODE, line(1)), None);
        assert!(!cache.may_have(line(40)) && cache.may_have(line(2)));
        assert_eq!(cache.find(Node::Node0, line(2)), None);
        assert_eq!(cache.state(cache.find(NODE, line(16)).unwrap()), LineState::Modified);
        assert_eq!(cache.lines().count(), 16);
    }

    #[test]
    fn a_removed_line_leaves_room() {
        let mut cache = L2Caches::new(T2Plus, 2);
        for n in 0..16 {
            cache.fill(NODE, line(n), LineState::Owned, 2, 0);
        }
        let slot = cache.find(NODE, line(7)).unwrap();
        assert_eq!(cache.hit(NODE, line(7), 1).unwrap().copies, 3);
        assert_eq!(cache.remove(NODE, slot), 3);
        assert_eq!(cache.find(NODE, line(7)), None);
        assert!(!cache.may_have(line(7)));
        assert!(cache.fill(NODE, line(20), LineState::Shared, 0, 0).is_none());
        let slot = cache.find(NODE, line(20)).unwrap();
        assert_eq!(*cache.copies(slot), 0);
    }
}
