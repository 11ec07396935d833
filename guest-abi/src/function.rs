//! Which functions of a trap a hypervisor serves.

use core::sync::atomic::AtomicBool;

/// Numbers of functions: each number below [`LIMIT`](Self::LIMIT) by itself, and the larger ones all or none.
///
/// The set is an array of bytes, one for each number below the limit and one for the larger ones: 1 for a number that is in the
/// set, else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FunctionSet {
    below: [bool; Self::LIMIT as usize],
    others: bool,
}

impl FunctionSet {
    /// The first number that is not in the set by itself.
    pub const LIMIT: u64 = 0x400;

    /// No number.
    pub const NONE: Self = Self {
        below: [false; Self::LIMIT as usize],
        others: false,
    };

    /// Every number.
    pub const ALL: Self = Self {
        below: [true; Self::LIMIT as usize],
        others: true,
    };

    /// Returns the set with these numbers added. A number from [`LIMIT`](Self::LIMIT) on adds all numbers from there on.
    #[must_use]
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

    /// Returns `true` if a number is in the set.
    #[must_use]
    pub const fn contains(&self, number: u64) -> bool {
        if number < Self::LIMIT {
            self.below[number as usize]
        } else {
            self.others
        }
    }
}

/// The functions that a hypervisor serves on a strand. The trap entries of an image answer EBADTRAP to calls of all others.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// Those of trap 0x80.
    pub fast: &'a FunctionSet,
    /// Those of trap 0xff.
    pub core: &'a FunctionSet,
    /// While it is `true`, the hypervisor is told of all calls of trap 0x80, because it records those of other functions too.
    pub traced: &'a AtomicBool,
}

impl Served<'_> {
    /// All functions.
    pub const ALL: Served<'static> = Served {
        fast: &FunctionSet::ALL,
        core: &FunctionSet::ALL,
        traced: &NEVER,
    };
}

static NEVER: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_the_limit_by_themselves_and_others_together() {
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
