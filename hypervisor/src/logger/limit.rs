//! A message rate limit.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// The number of messages that a source may send without a pause.
pub const BURST: u64 = 16;

/// The maximum number of attempts to count a message. An attempt fails if another strand counts a message at the same time. If all attempts
/// fail, the message is dropped.
const TRIES: usize = 8;

/// A limit for one source of messages: [`BURST`] messages without a pause, and afterwards one message in each interval.
#[derive(Debug)]
pub struct Limit {
    /// The time from which the source may again send [`BURST`] messages without a pause.
    rested: AtomicU64,
    dropped: AtomicU32,
}

impl Limit {
    #[allow(clippy::new_without_default, reason = "a static needs a constant")]
    pub(super) const fn new() -> Self {
        Self { rested: AtomicU64::new(0), dropped: AtomicU32::new(0) }
    }

    /// If the source may send a message at the time `now`, counts the message and returns `true`.
    pub(super) fn admit(&self, now: u64, interval: u64) -> bool {
        (0..TRIES).any(|_| {
            let rested = self.rested.load(Relaxed);
            let from = rested.max(now);
            from - now <= interval.saturating_mul(BURST - 1)
                && self
                    .rested
                    .compare_exchange(rested, from.saturating_add(interval), Relaxed, Relaxed)
                    .is_ok()
        })
    }

    /// Adds `messages` to the number of dropped messages.
    pub(super) fn count_dropped(&self, messages: u32) {
        self.dropped.fetch_add(messages, SeqCst);
    }

    /// Returns the number of messages that were dropped since the previous call.
    pub(super) fn take_dropped(&self) -> u32 {
        self.dropped.swap(0, SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_one_in_each_interval() {
        let limit = Limit::new();
        let admitted = |now, tries| (0..tries).filter(|_| limit.admit(now, 100)).count();
        assert_eq!(admitted(5, 1000), 16);
        assert_eq!(admitted(104, 10), 0);
        assert_eq!(admitted(105, 10), 1);
        assert_eq!(admitted(305, 10), 2);
        // After a rest, a whole burst is admitted again.
        assert_eq!(admitted(100_000, 1000), 16);
        // If the clock steps back, no message is admitted. The largest times and intervals cause no overflow.
        assert_eq!(admitted(0, 10), 0);
        assert!(limit.admit(u64::MAX, 100));
        assert!(Limit::new().admit(1, u64::MAX));
    }
}
