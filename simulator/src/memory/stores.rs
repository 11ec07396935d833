//! The stores of a strand that are on their way.

use super::timing;

/// When each of the last stores is done. They are done in the order of the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Stores {
    done: [u64; timing::STORES],
    /// The oldest of them.
    oldest: usize,
    latest: u64,
}

impl Stores {
    /// Returns when there is room for another.
    pub(super) fn room(&self) -> u64 {
        self.done[self.oldest]
    }

    /// Takes in a store that the L2 cache has done at this time. Returns when it is done, which may be later.
    pub(super) fn enter(&mut self, done: u64) -> u64 {
        self.latest = self.latest.max(done);
        self.done[self.oldest] = self.latest;
        self.oldest = (self.oldest + 1) % timing::STORES;
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
                stores.enter(done),
                done.max(100),
                "none is done before an older one"
            );
        }
        assert_eq!(stores.room(), 100);
        stores.enter(300);
        assert_eq!(stores.room(), 100, "that of the second");
        stores.enter(301);
        assert_eq!(stores.room(), 110);
    }
}
