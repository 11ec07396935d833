//! A unit that serves one request at a time.

/// The number of busy spans that a queue remembers. A few suffice, because requests arrive almost
/// in chronological order, and adjacent spans are merged.
const SPANS: usize = 16;

/// A span of time in cycles, `begins..ends`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    begins: u64,
    ends: u64,
}

/// The times at which a bank, a link or a channel is busy. Each request is served in the first gap that is long enough. So requests that
/// arrive in chronological order are served in this order, and a request does not wait for those that come later in time.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// The latest busy span. `before` holds the earlier spans.
    last: Span,
    before: Before,
    /// The end of the forgotten spans. No request is served before this time.
    forgotten: u64,
}

/// Busy spans in chronological order, with gaps between them. The ring is always full: empty spans fill the unused slots.
#[derive(Clone, Debug, Default)]
struct Before {
    spans: [Span; SPANS],
    latest: usize,
}

impl Before {
    /// Returns the span that is followed by `later` spans. With 0, returns the latest span.
    #[inline]
    fn at(&mut self, later: usize) -> &mut Span {
        &mut self.spans[self.latest.wrapping_sub(later) % SPANS]
    }

    /// Inserts a span before the last `later` spans. Returns the earliest span, which is forgotten.
    #[inline]
    fn insert(&mut self, later: usize, span: Span) -> Span {
        if later == SPANS {
            return span;
        }
        self.latest = (self.latest + 1) % SPANS;
        let earliest = *self.at(0);
        for others in 0..later {
            *self.at(others) = *self.at(others + 1);
        }
        *self.at(later) = span;
        earliest
    }

    /// Removes the span that `later` spans follow. An empty span at `time` becomes the earliest span.
    fn remove(&mut self, later: usize, time: u64) {
        for others in (0..later).rev() {
            *self.at(others + 1) = *self.at(others);
        }
        *self.at(0) = Span { begins: time, ends: time };
        self.latest = self.latest.wrapping_sub(1) % SPANS;
    }
}

impl Queue {
    /// Serves a request that arrives at the time `now` and takes `cycles`, at least 1. Returns when it is done.
    #[inline]
    pub(super) fn enter(&mut self, now: u64, cycles: u64) -> u64 {
        if now < self.last.begins {
            return self.enter_before(now, cycles);
        }
        if now > self.last.ends {
            self.forgotten = self.before.insert(0, self.last).ends;
            self.last = Span { begins: now, ends: now };
        }
        self.last.ends += cycles;
        self.last.ends
    }

    /// Serves a request that arrives before the latest span.
    #[inline(never)]
    fn enter_before(&mut self, now: u64, cycles: u64) -> u64 {
        let spans = &mut self.before;
        let mut begins = now.max(self.forgotten);
        // How many spans are after the request. If there is no room before a span, the request moves behind it.
        let mut later = 0;
        while later < SPANS && spans.at(later).ends > begins {
            later += 1;
        }
        while later > 0 && spans.at(later - 1).begins < begins + cycles {
            later -= 1;
            begins = spans.at(later).ends;
        }
        let ends = begins + cycles;
        if later == 0 && ends > self.last.begins {
            self.last.ends += cycles;
            return self.last.ends;
        }
        let previous = match later < SPANS {
            true => Some(*spans.at(later)).filter(|previous| previous.ends == begins),
            false => None,
        };
        let next = match later.checked_sub(1) {
            Some(later) => spans.at(later),
            None => &mut self.last,
        };
        match (previous, next.begins == ends) {
            (Some(previous), true) => {
                next.begins = previous.begins;
                spans.remove(later, self.forgotten);
            }
            (Some(_), false) => spans.at(later).ends = ends,
            (None, true) => next.begins = begins,
            (None, false) => self.forgotten = spans.insert(later, Span { begins, ends }).ends,
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_after_the_other() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(1000, 60), 1060);
        assert_eq!(queue.enter(1030, 60), 1120);
        assert_eq!(queue.enter(1100, 60), 1180);
        assert_eq!(queue.enter(2000, 60), 2060);
    }

    #[test]
    fn what_comes_earlier_does_not_wait_for_what_comes_later() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(200, 10), 210);
        assert_eq!(queue.enter(100, 10), 110);
        assert_eq!(queue.enter(105, 80), 190, "after the second, before the first");
        assert_eq!(queue.enter(105, 10), 200, "between them");
        assert_eq!(queue.enter(105, 10), 220, "after all");
        assert_eq!(queue.enter(0, 100), 100);
        let before = queue.before.spans;
        assert!(before.iter().all(|span| span.begins == span.ends), "there is no gap");
    }

    proptest! {
        /// A queue works like a set of all busy cycles, if it forgets no span that is needed.
        #[test]
        fn as_a_list_of_cycles(requests in prop::collection::vec((0..12_u64, 0..12_u64, 1..6_u64), 1..200)) {
            let mut queue = Queue::default();
            let mut busy = std::collections::BTreeSet::new();
            let mut time = 0;
            for (passed, late, cycles) in requests {
                time += passed;
                let now = time + 12 - late;
                let free = |begins: &u64| (*begins..begins + cycles).all(|cycle| !busy.contains(&cycle));
                let begins = (now..).find(free).unwrap();
                busy.extend(begins..begins + cycles);
                prop_assert_eq!(queue.enter(now, cycles), begins + cycles);
            }
        }

        /// A queue works like a list of the last 17 spans, even if the requests are far apart.
        #[test]
        fn as_a_list_of_spans(requests in prop::collection::vec((0..40_u64, 0..400_u64, 1..15_u64), 1..300)) {
            let mut queue = Queue::default();
            let mut spans: Vec<(u64, u64)> = vec![(0, 0)];
            let (mut time, mut forgotten) = (0, 0);
            for (passed, late, cycles) in requests {
                time += passed;
                let now = time + 400 - late;
                let mut begins = now.max(forgotten);
                for (other, ends) in &spans {
                    if begins + cycles > *other {
                        begins = begins.max(*ends);
                    }
                }
                spans.push((begins, begins + cycles));
                spans.sort_unstable();
                spans.dedup_by(|next, previous| {
                    let follows = previous.1 == next.0;
                    previous.1 = if follows { next.1 } else { previous.1 };
                    follows
                });
                if spans.len() > 17 {
                    forgotten = spans.remove(0).1;
                }
                prop_assert_eq!(queue.enter(now, cycles), begins + cycles);
            }
        }
    }
}
