//! A calendar queue. It takes constant time to find the pipeline that issues next.

/// The maximum number of pipelines in a machine.
pub(super) const PIPELINES: usize = 64;

const CYCLES: usize = 64 * 64;
const ROUND: u64 = (CYCLES * PIPELINES) as u64;

/// A pipeline and the time at which it can issue an instruction: a place in the turn order. The lowest value comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due(u64);

impl Due {
    /// The value of a pipeline that issues no further instruction.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// The lowest value: pipeline 0 at the time 0.
    pub(super) const FIRST: Self = Self(0);

    /// Returns the next higher value.
    pub(crate) fn after(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) fn new(at: u64, pipeline: usize) -> Self {
        Self(at * PIPELINES as u64 + pipeline as u64)
    }

    #[inline]
    pub(crate) fn at(self) -> u64 {
        self.0 / PIPELINES as u64
    }

    #[inline]
    pub(super) fn pipeline(self) -> usize {
        self.0 as usize % PIPELINES
    }

    /// Returns the earliest time at which the pipeline `other` can be due and still come after this value.
    #[inline]
    pub(super) fn earliest_for(self, other: usize) -> u64 {
        self.0.saturating_sub(other as u64).div_ceil(PIPELINES as u64)
    }

    fn round(self) -> u64 {
        self.0 / ROUND
    }
}

/// A calendar queue of pipelines.
///
/// A three-level bitmap holds the pipelines that are due in the current round. `pipelines` has a bit for each pipeline in each
/// cycle, `cycles` has a bit for each cycle in which a pipeline is due, and `words` has a bit for each word of `cycles` that is not
/// 0. All other pipelines are due in later rounds.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    round: u64,
    pipelines: [u64; CYCLES],
    cycles: [u64; 64],
    words: u64,
    /// The time at which each pipeline is due; `NEVER` if the pipeline is not in the queue.
    due: [Due; PIPELINES],
}

impl Calendar {
    pub(super) const fn new() -> Self {
        Self {
            round: 0,
            pipelines: [0; CYCLES],
            cycles: [0; 64],
            words: 0,
            due: [Due::NEVER; PIPELINES],
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Due {
        if self.words == 0 {
            return Due::NEVER;
        }
        let word = self.words.trailing_zeros() as usize % 64;
        let cycle = 64 * word + self.cycles[word].trailing_zeros() as usize % 64;
        let pipeline = self.pipelines[cycle].trailing_zeros() as usize;
        Due(self.round * ROUND + (cycle * PIPELINES + pipeline) as u64)
    }

    /// Returns when a pipeline is due; [`Due::NEVER`] if it is not in the queue.
    #[inline]
    pub(super) fn due(&self, pipeline: usize) -> Due {
        self.due[pipeline]
    }

    pub(super) fn set(&mut self, pipeline: usize, due: Due) {
        let before = std::mem::replace(&mut self.due[pipeline], due);
        if before.round() == self.round {
            self.unmark(before);
        }
        // The current round is the earliest one in which a pipeline is due. The round changes if it has become empty, or if `due`
        // is earlier.
        if due.round() == self.round {
            self.mark(due);
        } else if self.words == 0 || due.round() < self.round {
            self.begin_round();
        }
    }

    /// Removes the first pipeline, whose value is `first`. Inserts the pipeline of `by`, unless `by` is [`Due::NEVER`].
    #[inline]
    pub(super) fn replace(&mut self, first: Due, by: Due) {
        self.unmark(first);
        self.due[first.pipeline()] = Due::NEVER;
        if by.round() == self.round {
            self.due[by.pipeline()] = by;
            self.mark(by);
        } else {
            self.replace_by_later(by);
        }
    }

    #[cold]
    fn replace_by_later(&mut self, by: Due) {
        if by != Due::NEVER {
            self.due[by.pipeline()] = by;
        }
        if self.words == 0 {
            self.begin_round();
        }
    }

    /// Begins the earliest round in which any pipeline is due.
    #[cold]
    fn begin_round(&mut self) {
        let due = self.due;
        let Some(first) = due.iter().min().filter(|first| **first != Due::NEVER) else {
            return;
        };
        let of = |round| due.iter().copied().filter(move |due| due.round() == round);
        of(self.round).for_each(|due| self.unmark(due));
        self.round = first.round();
        of(self.round).for_each(|due| self.mark(due));
    }

    #[inline]
    fn mark(&mut self, due: Due) {
        let (word, cycle) = slot(due);
        self.pipelines[cycle] |= 1 << due.pipeline();
        self.cycles[word] |= 1 << (cycle % 64);
        self.words |= 1 << word;
    }

    #[inline]
    fn unmark(&mut self, due: Due) {
        let (word, cycle) = slot(due);
        let left = self.pipelines[cycle] & !(1 << due.pipeline());
        self.pipelines[cycle] = left;
        // This is not a branch, because a processor could not predict whether more pipelines are due in this cycle.
        self.cycles[word] &= !(u64::from(left == 0) << (cycle % 64));
        if self.cycles[word] == 0 {
            self.words &= !(1 << word);
        }
    }
}

/// Returns the index of the word that holds the cycle in which a pipeline is due, and the cycle's number in its round.
#[inline]
fn slot(due: Due) -> (usize, usize) {
    let cycle = due.at() as usize % CYCLES;
    (cycle / 64, cycle)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_earliest_comes_first_and_of_several_the_lowest_number() {
        let mut calendar = Calendar::new();
        assert_eq!(calendar.first(), Due::NEVER);
        for (at, pipeline) in [(70, 3), (70, 2), (9_000, 0), (5_000, 63), (u64::MAX >> 7, 1)] {
            calendar.set(pipeline, Due::new(at, pipeline));
        }
        let mut order = Vec::new();
        while calendar.first() != Due::NEVER {
            let first = calendar.first();
            order.push((first.at(), first.pipeline()));
            calendar.replace(first, Due::NEVER);
        }
        assert_eq!(order, [(70, 2), (70, 3), (5_000, 63), (9_000, 0), (u64::MAX >> 7, 1)]);
    }

    #[test]
    fn from_when_on_one_comes_before_another() {
        // Pipeline 6 can follow pipeline 5 at the same time, 10. Pipeline 4 can follow only at time 11.
        let due = Due::new(10, 5);
        assert_eq!((due.earliest_for(4), due.earliest_for(6)), (11, 10));
        assert_eq!((due.earliest_for(0), due.earliest_for(63)), (11, 10));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The times are close together, as those of real pipelines are, or whole rounds apart. A few times are earlier than the
        /// one before.
        #[test]
        fn matches_a_map(steps in prop::collection::vec((0..64_usize, 0..9_u8, 0..300_u64), 1..400)) {
            let mut calendar = Calendar::new();
            let mut map = BTreeMap::new();
            let mut now = 0_u64;
            for (pipeline, what, passed) in steps {
                let at = match what {
                    0 => None,
                    1 => Some(now.saturating_sub(passed * 40)),
                    2 => Some(now + passed * 100),
                    _ => Some(now + passed),
                };
                let due = at.map_or(Due::NEVER, |at| Due::new(at, pipeline));
                let first = calendar.first();
                let others = |map: &BTreeMap<usize, u64>| !map.contains_key(&pipeline) && !map.is_empty();
                if due >= first && others(&map) {
                    calendar.replace(first, due);
                    map.remove(&first.pipeline());
                } else {
                    calendar.set(pipeline, due);
                    map.remove(&pipeline);
                }
                map.extend(at.map(|at| (pipeline, at)));
                let first = map.iter().map(|(pipeline, at)| (*at, *pipeline)).min();
                let due = calendar.first();
                prop_assert_eq!((due != Due::NEVER).then(|| (due.at(), due.pipeline())), first);
                now = first.map_or(now, |(at, _)| at.max(now));
            }
        }
    }
}
