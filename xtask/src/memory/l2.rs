//! The L2 cache of a node.

use super::geometry::{L2_SETS, L2_WAYS, Line};

/// The state of a line that is in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// Other caches may have it. Memory may be stale if one of them owns it.
    Shared,
    /// No other cache has it. Memory is up to date.
    Exclusive,
    /// Others may have it; memory is stale, and this cache has to write it back.
    Owned,
    /// No other cache has it; memory is stale.
    Modified,
}

impl State {
    /// Whether memory is stale and this cache has the line in its care.
    pub(super) fn is_dirty(self) -> bool {
        matches!(self, Self::Owned | Self::Modified)
    }
}

/// Where a line is in the cache. Good until the next fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(usize);

/// A line that leaves the cache, and what it was there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) line: Line,
    pub(super) state: State,
    pub(super) copies: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it was last used: for exact LRU.
    used: u64,
    /// Which L1 caches of the node may have parts of it; see [`super::copies`].
    copies: u64,
}

/// Tags and states. Inclusive: what an L1 cache of the node has, this cache has.
#[derive(Clone, Debug)]
pub(super) struct L2 {
    tags: Vec<[u32; L2_WAYS]>,
    states: Vec<State>,
    entries: Vec<Entry>,
    uses: u64,
}

/// Tags have 21 bits.
const FREE: u32 = u32::MAX;

impl L2 {
    pub(super) fn new() -> Self {
        const EMPTY: Entry = Entry { used: 0, copies: 0 };
        Self {
            tags: vec![[FREE; L2_WAYS]; L2_SETS],
            states: vec![State::Shared; L2_SETS * L2_WAYS],
            entries: vec![EMPTY; L2_SETS * L2_WAYS],
            uses: 0,
        }
    }

    /// Where the line is.
    pub(super) fn find(&self, line: Line) -> Option<Slot> {
        let (set, tag) = place(line);
        let mut matches = 0_u32;
        for (way, entry) in self.tags[set].iter().enumerate() {
            matches |= u32::from(*entry == tag) << way;
        }
        (matches != 0).then(|| Slot(set * L2_WAYS + matches.trailing_zeros() as usize))
    }

    /// The line is the most recently used of its set.
    pub(super) fn touch(&mut self, slot: Slot) {
        self.uses += 1;
        self.entries[slot.0].used = self.uses;
    }

    pub(super) fn state(&self, slot: Slot) -> State {
        self.states[slot.0]
    }

    pub(super) fn set_state(&mut self, slot: Slot, state: State) {
        self.states[slot.0] = state;
    }

    /// Which L1 caches may have parts of the line.
    pub(super) fn copies(&mut self, slot: Slot) -> &mut u64 {
        &mut self.entries[slot.0].copies
    }

    /// Takes in a line that it does not have; the least recently used one of the set goes.
    pub(super) fn fill(&mut self, line: Line, state: State) -> (Slot, Option<Victim>) {
        let (set, tag) = place(line);
        let first = set * L2_WAYS;
        let mut way = 0;
        for candidate in 1..L2_WAYS {
            if self.entries[first + candidate].used < self.entries[first + way].used {
                way = candidate;
            }
        }
        let slot = Slot(first + way);
        let victim = self.take(slot);
        self.tags[set][way] = tag;
        self.states[slot.0] = state;
        self.touch(slot);
        (slot, victim)
    }

    /// Drops a line. `None` if the slot was free.
    pub(super) fn take(&mut self, slot: Slot) -> Option<Victim> {
        let (set, way) = (slot.0 / L2_WAYS, slot.0 % L2_WAYS);
        let tag = std::mem::replace(&mut self.tags[set][way], FREE);
        let entry = std::mem::replace(&mut self.entries[slot.0], Entry { used: 0, copies: 0 });
        (tag != FREE).then(|| Victim {
            line: Line(u64::from(tag) * L2_SETS as u64 + set as u64),
            state: self.states[slot.0],
            copies: entry.copies,
        })
    }

    /// All lines and their states.
    #[cfg(test)]
    pub(super) fn lines(&self) -> impl Iterator<Item = (Line, State)> {
        self.tags.iter().enumerate().flat_map(move |(set, tags)| {
            tags.iter()
                .enumerate()
                .filter(|(_, tag)| **tag != FREE)
                .map(move |(way, tag)| {
                    let line = Line(u64::from(*tag) * L2_SETS as u64 + set as u64);
                    (line, self.states[set * L2_WAYS + way])
                })
        })
    }
}

fn place(line: Line) -> (usize, u32) {
    (line.0 as usize % L2_SETS, (line.0 / L2_SETS as u64) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nth line of set 5.
    fn line(n: u64) -> Line {
        Line(5 + 4096 * n)
    }

    #[test]
    fn the_least_recently_used_line_goes() {
        let mut cache = L2::new();
        for n in 0..16 {
            let (slot, victim) = cache.fill(line(n), State::Exclusive);
            assert!(victim.is_none(), "{n}");
            *cache.copies(slot) = n;
        }
        let first = cache.find(line(0)).unwrap();
        cache.touch(first);
        let (_, victim) = cache.fill(line(16), State::Modified);
        let victim = victim.unwrap();
        assert_eq!((victim.line, victim.copies), (line(1), 1));
        assert_eq!(victim.state, State::Exclusive);
        assert_eq!(cache.find(line(1)), None);
        assert_eq!(cache.state(cache.find(line(16)).unwrap()), State::Modified);
        assert_eq!(*cache.copies(first), 0);
        assert_eq!(cache.lines().count(), 16);
    }

    #[test]
    fn a_line_that_is_taken_leaves_room() {
        let mut cache = L2::new();
        for n in 0..16 {
            cache.fill(line(n), State::Owned);
        }
        let slot = cache.find(line(7)).unwrap();
        *cache.copies(slot) = 3;
        assert_eq!(cache.take(slot).unwrap().copies, 3);
        assert!(cache.take(slot).is_none());
        assert!(cache.fill(line(20), State::Shared).1.is_none());
        let slot = cache.find(line(20)).unwrap();
        assert_eq!(*cache.copies(slot), 0);
    }
}
