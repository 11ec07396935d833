//! A unit that serves one request at a time.

/// The number of busy spans that a queue remembers. A few are enough, because requests arrive almost in chronological order, and
/// adjacent spans are merged.
const MAX_SPANS: usize = 17;

/// The size of the ring. It is a power of two, so that finding an index takes one step.
const SLOTS: usize = 32;
const _: () = assert!(MAX_SPANS < SLOTS);

/// A span of time in cycles, `begins..ends`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    begins: u64,
    ends: u64,
}

/// The times at which a bank, a link or a channel is busy. Each request is served in the first gap that is long enough. So requests
/// that arrive in chronological order are served in that order, and no request waits for one that comes later in time.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// A ring of busy spans in chronological order, with gaps between them. The last [`MAX_SPANS`] entries are the spans that the queue
    /// remembers; the earliest of them are empty if there have been fewer spans. The entry before them is the latest forgotten
    /// span, and no request is served before the end of that span.
    spans: [Span; SLOTS],
    /// The index of the latest span in the ring, plus a multiple of the ring's size.
    latest: usize,
}

impl Queue {
    /// Serves a request that arrives at the time `now` and takes `cycles`, at least 1. Returns the time at which it is done.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: u64, cycles: u64) -> u64 {
        let latest = &mut self.spans[self.latest % SLOTS];
        if now > latest.ends {
            self.latest = self.latest.wrapping_add(1);
            let ends = now + cycles;
            *self.at(0) = Span { begins: now, ends };
            return ends;
        }
        if now < latest.begins {
            return self.enter_before(now, cycles);
        }
        latest.ends += cycles;
        latest.ends
    }

    /// Serves a request that arrives before the latest span.
    #[inline(never)]
    fn enter_before(&mut self, now: u64, cycles: u64) -> u64 {
        let mut begins = now.max(self.at(MAX_SPANS).ends);
        // The number of spans after the request. If there is no room before a span, the request moves behind it.
        let mut later = 1;
        while later < MAX_SPANS && self.at(later).ends > begins {
            later += 1;
        }
        while later > 1 && self.at(later - 1).begins < begins + cycles {
            later -= 1;
            begins = self.at(later).ends;
        }
        let ends = begins + cycles;
        let latest = self.at(0);
        if later == 1 && ends > latest.begins {
            latest.ends += cycles;
            return latest.ends;
        }
        let previous =
            Some(*self.at(later)).filter(|span| later < MAX_SPANS && span.ends == begins);
        let next = self.at(later - 1);
        match (previous, next.begins == ends) {
            (Some(previous), true) => {
                next.begins = previous.begins;
                self.remove(later);
            }
            (Some(_), false) => self.at(later).ends = ends,
            (None, true) => next.begins = begins,
            (None, false) => self.insert(later, Span { begins, ends }),
        }
        ends
    }

    /// Returns the span that is followed by `later` spans. If `later` is 0, returns the latest span. If `later` is [`MAX_SPANS`],
    /// returns the latest forgotten span.
    #[inline(always)]
    fn at(&mut self, later: usize) -> &mut Span {
        &mut self.spans[self.latest.wrapping_sub(later) % SLOTS]
    }

    /// Inserts a span before the last `later` spans. Forgets the earliest span.
    fn insert(&mut self, later: usize, span: Span) {
        self.latest = self.latest.wrapping_add(1);
        for others in 0..later {
            *self.at(others) = *self.at(others + 1);
        }
        *self.at(later) = span;
    }

    /// Removes the span that is followed by `later` spans. An empty span becomes the earliest span.
    fn remove(&mut self, later: usize) {
        let forgotten = self.at(MAX_SPANS).ends;
        for others in (0..later).rev() {
            *self.at(others + 1) = *self.at(others);
        }
        self.latest = self.latest.wrapping_sub(1);
        let empty = Span { begins: forgotten, ends: forgotten };
        (*self.at(MAX_SPANS - 1), *self.at(MAX_SPANS)) = (empty, empty);
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
        let mut before = (1..MAX_SPANS).map(|later| *queue.at(later));
        assert!(before.all(|span| span.begins == span.ends), "there is no gap");
    }

    proptest! {
        /// A queue works like a set of all busy cycles, as long as it forgets no span that is needed.
        #[test]
        fn matches_a_list_of_cycles(requests in prop::collection::vec((0..12_u64, 0..12_u64, 1..6_u64), 1..200)) {
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
        fn matches_a_list_of_spans(requests in prop::collection::vec((0..40_u64, 0..400_u64, 1..15_u64), 1..300)) {
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
