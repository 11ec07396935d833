//! What is busy with one request at a time.

use std::collections::VecDeque;

/// How many spans a queue remembers. Requests come almost in the order of time, and spans without a gap are one.
const SPANS: usize = 16;

/// A span of time, in cycles, with its begin and without its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    begins: u64,
    ends: u64,
}

/// A bank, a link or a channel, which serves one request at a time: each in the first gap that is long enough. So requests
/// that come in the order of time are served in their order, and one that comes with an earlier time than others before it
/// does not wait for what happens later.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// When it was and will be busy: the last span, and those before it in the order of time.
    last: Span,
    before: VecDeque<Span>,
    /// It serves nothing more before this time.
    forgotten: u64,
}

impl Queue {
    /// A request arrives at the time `now`, and takes this many cycles, 1 at least. Returns the time at which it is done.
    #[inline]
    pub(super) fn enter(&mut self, now: u64, cycles: u64) -> u64 {
        if now < self.last.begins {
            return self.enter_before(now, cycles);
        }
        if now > self.last.ends {
            let begins = Span {
                begins: now,
                ends: now,
            };
            self.before
                .push_back(std::mem::replace(&mut self.last, begins));
            self.forget();
        }
        self.last.ends += cycles;
        self.last.ends
    }

    /// As [`enter`](Self::enter), for a request that arrives before the last span.
    #[inline(never)]
    fn enter_before(&mut self, now: u64, cycles: u64) -> u64 {
        let spans = &mut self.before;
        let mut begins = now.max(self.forgotten);
        // The first span that ends later, and then the first that begins too late to be in the way.
        let mut at = spans.len();
        while at > 0 && spans[at - 1].ends > begins {
            at -= 1;
        }
        while let Some(span) = spans.get(at).filter(|span| span.begins < begins + cycles) {
            begins = begins.max(span.ends);
            at += 1;
        }
        let ends = begins + cycles;
        if at == spans.len() && ends > self.last.begins {
            self.last.ends += cycles;
            return self.last.ends;
        }
        let follows = at > 0 && spans[at - 1].ends == begins;
        if follows {
            begins = spans[at - 1].begins;
        }
        let next = spans.get_mut(at).unwrap_or(&mut self.last);
        match (follows, next.begins == ends) {
            (true, true) => {
                next.begins = begins;
                spans.remove(at - 1);
            }
            (true, false) => spans[at - 1].ends = ends,
            (false, true) => next.begins = begins,
            (false, false) => {
                spans.insert(at, Span { begins, ends });
                self.forget();
            }
        }
        ends
    }

    fn forget(&mut self) {
        if self.before.len() > SPANS {
            self.forgotten = self.before.pop_front().map_or(0, |oldest| oldest.ends);
        }
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
        assert_eq!(
            queue.enter(105, 80),
            190,
            "after the second, before the first"
        );
        assert_eq!(queue.enter(105, 10), 200, "between them");
        assert_eq!(queue.enter(105, 10), 220, "after all");
        assert_eq!(queue.enter(0, 100), 100);
        assert!(queue.before.is_empty(), "there is no gap");
    }

    proptest! {
        /// Against a list of all busy cycles. The requests are never so far apart that a span is forgotten that matters.
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
    }
}
