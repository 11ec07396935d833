//! The two counters of a PMU or a strand, and sets of them.

use core::ops::BitOr;

crate::numbered::numbered! {
    /// One of the two counters of a PMU or a strand.
    Counter "counter" { Pic0 "PIC0", Pic1 "PIC1", }
}

crate::bit_set::bit_set! {
    /// A set of the two counters: none, one or both.
    CounterSet(u8) of Counter
}

impl CounterSet {
    /// Counters 0 and 1.
    pub const BOTH: Self = Self(3);

    /// Returns the set of counters whose arguments are `true`.
    pub const fn new(pic0: bool, pic1: bool) -> Self {
        Self(pic0 as u8 | (pic1 as u8) << 1)
    }

    /// Returns the set that contains only `counter`.
    pub const fn only(counter: Counter) -> Self {
        Self::NONE.with(counter)
    }

    /// Returns the counters that are in both sets.
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns this set without the counters of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl From<Counter> for CounterSet {
    fn from(counter: Counter) -> Self {
        Self::only(counter)
    }
}

impl BitOr for CounterSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}
