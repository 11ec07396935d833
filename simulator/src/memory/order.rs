/// The ways of a set in order of use, in four bits each. The most recently used way is in bits 3:0. Unused bits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order(u64);

/// The maximum number of ways in a set.
pub(super) const MAX_WAYS: usize = 16;

const ONES: u64 = 0x1111_1111_1111_1111;

impl Order {
    /// Returns the initial order, in which way 0 is filled first.
    pub(super) const fn new(ways: usize) -> Self {
        Self(0x0123_4567_89ab_cdef >> (4 * (MAX_WAYS - ways)))
    }

    /// Returns the way that was used last.
    #[inline]
    pub(super) fn latest(self) -> usize {
        (self.0 & 0xf) as usize
    }

    /// Returns the way that will be replaced next in a set of `ways` ways.
    #[inline(always)]
    fn oldest(self, ways: usize) -> usize {
        (self.0 >> (4 * ways - 4)) as usize % MAX_WAYS
    }

    /// Makes the least recently used way the most recently used one, and returns it. The set has `ways` ways.
    #[inline(always)]
    pub(super) fn reuse(&mut self, ways: usize) -> usize {
        let way = self.oldest(ways);
        self.0 = (self.0 ^ (way as u64) << (4 * ways - 4)) << 4 | way as u64;
        way
    }

    /// Makes `way` the most recently used way.
    #[inline]
    pub(super) fn renew(&mut self, way: usize) {
        if self.latest() == way {
            return;
        }
        let shift = self.shift(way);
        let younger = self.0 & ((1 << shift) - 1);
        let older = self.0 & (u64::MAX << shift << 4);
        self.0 = older | younger << 4 | way as u64;
    }

    /// Makes `way` the way that will be replaced next in a set of `ways` ways.
    pub(super) fn retire(&mut self, way: usize, ways: usize) {
        let shift = self.shift(way);
        let younger = self.0 & ((1 << shift) - 1);
        let older = self.0 & (u64::MAX << shift << 4);
        self.0 = older >> 4 | younger | (way as u64) << (4 * ways - 4);
    }

    /// Returns the position of a way's four-bit digit, as the number of bits below it.
    #[inline]
    fn shift(self, way: usize) -> u32 {
        // XOR turns the digit that equals `way` into 0. The subtraction marks the digits that are 0, but only the lowest mark is
        // certain to be right.
        let digits = self.0 ^ (way as u64 * ONES);
        let zeros = digits.wrapping_sub(ONES) & !digits & (8 * ONES);
        zeros.trailing_zeros() & !3
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digits(order: Order) -> Vec<usize> {
        (0..MAX_WAYS).map(|n| (order.0 >> (4 * n) & 0xf) as usize).collect()
    }

    #[test]
    fn renewed_and_retired() {
        let mut order = Order(0xfedc_ba98_7654_3210);
        order.renew(0);
        assert_eq!(order, Order(0xfedc_ba98_7654_3210));
        order.renew(5);
        assert_eq!(order, Order(0xfedc_ba98_7643_2105));
        order.renew(15);
        assert_eq!(order, Order(0xedcb_a987_6432_105f));
        order.retire(15, 16);
        assert_eq!(order, Order(0xfedc_ba98_7643_2105));
        order.retire(15, 16);
        assert_eq!(order, Order(0xfedc_ba98_7643_2105));
        order.retire(9, 16);
        assert_eq!(order, Order(0x9fed_cba8_7643_2105));
        assert_eq!((order.latest(), order.oldest(16)), (5, 9));
    }

    proptest! {
        #[test]
        fn matches_a_list(
            ways in 1..=16_usize,
            moves in prop::collection::vec((0..16_usize, 0..3), 0..100),
        ) {
            let mut order = Order::new(ways);
            let mut list: Vec<usize> = (0..ways).rev().collect();
            for (way, what) in moves {
                let way = if what == 2 { list[ways - 1] } else { way % ways };
                list.retain(|other| *other != way);
                match what {
                    0 => {
                        order.retire(way, ways);
                        list.push(way);
                    }
                    1 => {
                        order.renew(way);
                        list.insert(0, way);
                    }
                    _ => {
                        prop_assert_eq!(order.reuse(ways), way);
                        list.insert(0, way);
                    }
                }
                prop_assert_eq!(&digits(order)[..ways], &list);
                prop_assert_eq!(digits(order)[ways..].iter().sum::<usize>(), 0);
                prop_assert_eq!((order.latest(), order.oldest(ways)), (list[0], list[ways - 1]));
            }
        }
    }
}
