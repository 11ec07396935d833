//! A two-way write-back cache.

/// A line's state. A line in a primary cache is never [`Shared`](Self::Shared). The line is part of a secondary cache block, and only the
/// block's state says whether other processors may have the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Other processors may also have the line.
    Shared,
    /// No other processor has the line, and the copy in the next level is up to date.
    Clean,
    /// No other processor has the line, and the copy in the next level is stale.
    Dirty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheLine {
    /// The line's address, divided by the line size.
    pub(super) number: u64,
    pub(super) state: State,
}

impl CacheLine {
    pub(super) const fn new(number: u64, state: State) -> Self {
        Self { number, state }
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.state == State::Dirty
    }
}

/// What a hit finds: the line's state, and its position in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Whether the set's other line was used more recently.
    pub(super) other_way: bool,
    pub(super) was_dirty: bool,
}

/// The tags and states of all lines. A set's first line is the most recently used, and a new line replaces the second.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    sets: Vec<[Option<CacheLine>; 2]>,
}

impl Cache {
    pub(super) fn new(bytes: usize, line: usize) -> Self {
        Self { sets: vec![[None; 2]; bytes / line / 2] }
    }

    /// Uses a line, and makes it dirty if `write` is set. Returns `None` on a miss.
    pub(super) fn touch(&mut self, number: u64, write: bool) -> Option<Found> {
        let set = self.set(number);
        let other_way = holds(&set[1], number);
        if other_way {
            set.swap(0, 1);
        }
        let line = set[0].as_mut().filter(|line| line.number == number)?;
        let was_dirty = line.is_dirty();
        if write {
            line.state = State::Dirty;
        }
        Some(Found { other_way, was_dirty })
    }

    /// Adds a missing line. Returns the replaced line, if any.
    pub(super) fn fill(&mut self, line: CacheLine) -> Option<CacheLine> {
        let set = self.set(line.number);
        let victim = set[1];
        *set = [Some(line), set[0]];
        victim
    }

    /// Changes a line's state without using the line. Returns the previous state; `None` if the line is not in the cache.
    pub(super) fn set_state(&mut self, number: u64, state: State) -> Option<State> {
        let mut lines = self.set(number).iter_mut().flatten();
        let line = lines.find(|line| line.number == number)?;
        Some(std::mem::replace(&mut line.state, state))
    }

    /// Returns whether a line is in the cache. This does not count as a use of the line.
    pub(super) fn has(&self, number: u64) -> bool {
        let sets = self.sets.len() as u64;
        self.sets[(number % sets) as usize].iter().any(|line| holds(line, number))
    }

    /// Removes a line from the cache and returns it. The line must be in the cache.
    pub(super) fn remove(&mut self, number: u64) -> Option<CacheLine> {
        let set = self.set(number);
        if holds(&set[0], number) {
            set.swap(0, 1);
        }
        set[1].take_if(|line| line.number == number)
    }

    fn set(&mut self, number: u64) -> &mut [Option<CacheLine>; 2] {
        let sets = self.sets.len() as u64;
        &mut self.sets[(number % sets) as usize]
    }
}

fn holds(way: &Option<CacheLine>, number: u64) -> bool {
    way.is_some_and(|line| line.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(number: u64) -> CacheLine {
        CacheLine::new(number, State::Clean)
    }

    fn dirty(number: u64) -> CacheLine {
        CacheLine::new(number, State::Dirty)
    }

    fn found(other_way: bool, was_dirty: bool) -> Option<Found> {
        Some(Found { other_way, was_dirty })
    }

    /// The cache has 4 sets: lines 0, 4, 8 and so on share set 0.
    fn cache() -> Cache {
        Cache::new(8 * 32, 32)
    }

    /// Returns the cache after filling it with these lines.
    fn filled(lines: [CacheLine; 2]) -> Cache {
        let mut cache = cache();
        assert_eq!(lines.map(|line| cache.fill(line)), [None; 2]);
        cache
    }

    #[test]
    fn the_least_recently_used_line_goes() {
        let mut cache = cache();
        assert_eq!(cache.touch(0, false), None);
        assert_eq!(cache.fill(clean(0)), None);
        assert_eq!(cache.fill(clean(4)), None);
        assert_eq!(cache.touch(0, false), found(true, false));
        assert_eq!(cache.fill(clean(8)), Some(clean(4)));
        assert_eq!(cache.touch(4, false), None);
        assert_eq!(cache.fill(clean(4)), Some(clean(0)));
        assert_eq!(cache.touch(8, false), found(true, false));
        assert_eq!(cache.touch(4, false), found(true, false));
        assert_eq!(cache.touch(4, false), found(false, false));
        assert_eq!((cache.touch(1, false), cache.touch(5, false)), (None, None));
    }

    #[test]
    fn a_write_makes_dirty() {
        let mut cache = filled([clean(3), dirty(7)]);
        assert_eq!(cache.touch(3, true), found(true, false));
        assert_eq!(cache.touch(3, false), found(false, true));
        assert_eq!(cache.touch(7, false), found(true, true));
        assert_eq!(cache.fill(clean(11)), Some(dirty(3)));
        assert_eq!(cache.fill(clean(3)), Some(dirty(7)));
    }

    #[test]
    fn a_line_whose_state_changes_is_not_used() {
        let mut cache = filled([clean(0), clean(4)]);
        assert_eq!(cache.set_state(0, State::Dirty), Some(State::Clean));
        assert_eq!(cache.set_state(0, State::Dirty), Some(State::Dirty));
        assert_eq!(cache.set_state(8, State::Dirty), None);
        assert!(cache.has(0) && cache.has(4) && !cache.has(8));
        assert_eq!(cache.fill(clean(8)), Some(dirty(0)));
    }

    #[test]
    fn a_line_that_is_removed_leaves_room() {
        let mut cache = filled([dirty(0), clean(4)]);
        assert_eq!(cache.remove(4), Some(clean(4)));
        assert_eq!(cache.remove(4), None);
        assert_eq!(cache.fill(clean(8)), None);
        assert_eq!(cache.remove(0), Some(dirty(0)));
        assert_eq!(cache.fill(clean(12)), None);
        assert!(cache.touch(8, false).is_some() && cache.touch(12, false).is_some());
    }
}
