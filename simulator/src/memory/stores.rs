//! The stores of a strand that are on their way.

/// The most stores of a strand that are on their way.
pub(super) const MOST_STORES: usize = 16;

/// When each of the last stores is done. They are done in the order of the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Stores {
    done: [u64; MOST_STORES],
    /// The oldest of them.
    oldest: usize,
    latest: u64,
}

impl Stores {
    /// Returns when there is room for another.
    pub(super) fn room(&self) -> u64 {
        self.done[self.oldest % MOST_STORES]
    }

    /// Takes in a store that the L2 cache has done at this time, as one of `most`. Returns when it is done, which may be later.
    pub(super) fn enter(&mut self, done: u64, most: u64) -> u64 {
        self.latest = self.latest.max(done);
        self.done[self.oldest % MOST_STORES] = self.latest;
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
            assert_eq!(
                stores.enter(done, 8),
                done.max(100),
                "none is done before an older one"
            );
        }
        assert_eq!(stores.room(), 100);
        stores.enter(300, 8);
        assert_eq!(stores.room(), 100, "that of the second");
        stores.enter(301, 8);
        assert_eq!(stores.room(), 110);
    }
}
