//! Sets of function numbers, and the functions that a hypervisor serves.

use core::sync::atomic::AtomicBool;

/// A set of function numbers. Each number below [`LIMIT`](Self::LIMIT) is in the set or not, independently of the others. The numbers from
/// `LIMIT` on are in the set together, or not at all.
///
/// Trap entries read the set in assembly. The set is an array of bytes, 1 or 0: one for each number below `LIMIT`, then one for all
/// numbers from `LIMIT` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
#[must_use]
pub struct FunctionSet {
    below: [bool; Self::LIMIT as usize],
    others: bool,
}

impl FunctionSet {
    /// The first of the numbers that share one byte of the set.
    pub const LIMIT: u64 = 0x400;

    /// The empty set.
    pub const NONE: Self = Self { below: [false; Self::LIMIT as usize], others: false };

    /// The set of all numbers.
    pub const ALL: Self = Self { below: [true; Self::LIMIT as usize], others: true };

    /// Returns the set with `numbers` added. If one of them is [`LIMIT`](Self::LIMIT) or higher, adds all numbers from `LIMIT` on.
    pub const fn with(mut self, numbers: &[u64]) -> Self {
        let mut index = 0;
        while index < numbers.len() {
            if numbers[index] < Self::LIMIT {
                self.below[numbers[index] as usize] = true;
            } else {
                self.others = true;
            }
            index += 1;
        }
        self
    }

    /// Returns `true` if `number` is in the set.
    pub const fn contains(&self, number: u64) -> bool {
        if number < Self::LIMIT { self.below[number as usize] } else { self.others }
    }
}

/// The functions that a hypervisor serves on a strand. An image's trap entries answer calls to other functions with EBADTRAP.
#[derive(Clone, Copy, Debug)]
pub struct ServedFunctions<'a> {
    /// The functions of trap 0x80.
    pub fast: &'a FunctionSet,
    /// The functions of trap 0xff.
    pub core: &'a FunctionSet,
    /// While `true`, all calls through trap 0x80 reach the hypervisor, which can then also trace calls to functions that it does not serve.
    pub traced: &'a AtomicBool,
}

impl ServedFunctions<'_> {
    /// Every function of both traps is served.
    pub const ALL: ServedFunctions<'static> =
        ServedFunctions { fast: &FunctionSet::ALL, core: &FunctionSet::ALL, traced: &NEVER };
}

static NEVER: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_the_limit_are_separate_and_larger_ones_are_not() {
        let small = FunctionSet::NONE.with(&[0, 0x106, 0x3ff]);
        let large = small.with(&[1 << 40]);
        for (number, expected) in [
            (0, [false, true, true, true]),
            (1, [false, false, false, true]),
            (0x105, [false, false, false, true]),
            (0x106, [false, true, true, true]),
            (0x107, [false, false, false, true]),
            (0x3ff, [false, true, true, true]),
            (0x400, [false, false, true, true]),
            (1 << 32 | 0x106, [false, false, true, true]),
            (1 << 40, [false, false, true, true]),
            (1 << 63, [false, false, true, true]),
            (u64::MAX, [false, false, true, true]),
        ] {
            let found =
                [FunctionSet::NONE, small, large, FunctionSet::ALL].map(|set| set.contains(number));
            assert_eq!(found, expected, "{number:#x}");
        }
    }
}
