//! A strand's stores that are under way.

/// The maximum number of a strand's stores under way.
pub(super) const MAX_STORES: usize = 16;

/// The completion times of the latest stores. Stores complete in program order.
#[derive(Clone, Debug, Default)]
pub(super) struct Stores {
    done: [u64; MAX_STORES],
    /// The index in `done` of the oldest store.
    oldest: usize,
    latest: u64,
}

impl Stores {
    /// Returns the time from which the strand has room for another store.
    pub(super) fn room(&self) -> u64 {
        self.done[self.oldest % MAX_STORES]
    }

    /// Returns the time from which the strand has room for another store, if `others` stores that have not been added yet come
    /// before it. At most `most` stores may be under way. If `others` is not less than `most`, this time is not known yet, and the
    /// result is [`u64::MAX`].
    #[inline]
    pub(super) fn room_behind(&self, others: usize, most: u64) -> u64 {
        match others < most as usize {
            true => self.done[(self.oldest + others) % most as usize % MAX_STORES],
            false => u64::MAX,
        }
    }

    /// Adds a store that the L2 cache completes at the time `done`. At most `most` stores may be under way. Returns the time at
    /// which this store and all earlier ones are done.
    pub(super) fn enter(&mut self, done: u64, most: u64) -> u64 {
        self.latest = self.latest.max(done);
        self.done[self.oldest % MAX_STORES] = self.latest;
        self.oldest = (self.oldest + 1) % most as usize;
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_are_under_way() {
        let mut stores = Stores::default();
        for done in [100, 50, 110, 120, 130, 140, 150, 160] {
            assert_eq!(stores.room(), 0);
            assert_eq!(stores.enter(done, 8), done.max(100), "none is done before an older one");
        }
        assert_eq!(stores.room(), 100);
        stores.enter(300, 8);
        assert_eq!(stores.room(), 100, "the second store is done");
        stores.enter(301, 8);
        assert_eq!(stores.room(), 110);
    }
}
