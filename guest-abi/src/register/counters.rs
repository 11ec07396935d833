//! Sets of counters.

use core::fmt;
use core::ops::BitOr;

use super::Counter;

/// None, one or both of two counters.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CounterSet(u8);

impl CounterSet {
    /// Neither counter.
    pub const NONE: Self = Self(0);

    /// Both counters.
    pub const BOTH: Self = Self(3);

    /// Returns the set of this counter alone.
    pub const fn only(counter: Counter) -> Self {
        Self(1 << counter as u8)
    }

    /// Returns the set of this counter if the condition holds, else the empty set.
    pub const fn when(condition: bool, counter: Counter) -> Self {
        if condition {
            Self::only(counter)
        } else {
            Self::NONE
        }
    }

    /// Returns `true` if this counter is in the set.
    pub const fn contains(self, counter: Counter) -> bool {
        self.0 >> counter as u8 & 1 != 0
    }

    /// Returns `true` if no counter is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of counters in the set, 0 to 2.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the counters in the set, counter 0 first.
    pub fn iter(self) -> impl Iterator<Item = Counter> {
        Counter::ALL
            .iter()
            .copied()
            .filter(move |counter| self.contains(*counter))
    }

    /// Returns the counters that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the counters that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the counters that are in this set and not in the other.
    #[must_use]
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

impl FromIterator<Counter> for CounterSet {
    fn from_iter<I: IntoIterator<Item = Counter>>(counters: I) -> Self {
        counters
            .into_iter()
            .fold(Self::NONE, |set, counter| set | counter.into())
    }
}

impl fmt::Debug for CounterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
