//! The threads that sleep until a certain time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The sleeping threads, ordered by the time at which they wake. Among threads that wake at the same time, the one with the lowest
/// number comes first.
#[derive(Debug, Default)]
pub(super) struct Sleepers(BinaryHeap<Reverse<(u64, usize)>>);

impl Sleepers {
    pub(super) fn add(&mut self, thread: usize, until: u64) {
        self.0.push(Reverse((until, thread)));
    }

    /// Returns the time at which the first thread wakes; [`u64::MAX`] if none sleeps.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |Reverse((until, _))| *until)
    }

    /// Removes the thread that wakes first, if it wakes at `time` or earlier. If `time` is `None`, no other event is due, and the
    /// thread is removed no matter when it wakes. Returns the thread and the time at which it wakes.
    #[inline]
    pub(super) fn next_before(&mut self, time: Option<u64>) -> Option<(usize, u64)> {
        if self.first() > time.unwrap_or(u64::MAX) {
            return None;
        }
        self.0.pop().map(|Reverse((until, thread))| (thread, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sleeper_wakes_first() {
        let mut sleepers = Sleepers::default();
        assert_eq!(sleepers.next_before(None), None);
        for (thread, until) in [(1, 30), (2, 10), (0, 30)] {
            sleepers.add(thread, until);
        }
        assert_eq!(sleepers.first(), 10);
        assert_eq!(sleepers.next_before(Some(9)), None);
        assert_eq!(sleepers.next_before(Some(10)), Some((2, 10)));
        assert_eq!(sleepers.next_before(None), Some((0, 30)));
        assert_eq!(sleepers.next_before(Some(40)), Some((1, 30)));
        assert_eq!(sleepers.first(), u64::MAX);
    }
}
