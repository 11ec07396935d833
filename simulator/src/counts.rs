//! Sums and differences of records, over all their counts.

/// A record of counts. [`counts!`] implements it for a struct, which then has no count that sums and differences miss.
pub(crate) trait Counts {
    /// Changes each count by the same count of another record.
    fn combine(&mut self, other: &Self, with: impl Fn(&mut u64, u64) + Copy);

    fn add(&mut self, other: &Self) {
        self.combine(other, |count, other| *count += other);
    }

    fn subtract(&mut self, earlier: &Self) {
        self.combine(earlier, |count, earlier| *count -= earlier);
    }
}

impl Counts for u64 {
    #[inline(always)]
    fn combine(&mut self, other: &Self, with: impl Fn(&mut u64, u64) + Copy) {
        with(self, *other);
    }
}

impl<T: Counts, const N: usize> Counts for [T; N] {
    #[inline(always)]
    fn combine(&mut self, other: &Self, with: impl Fn(&mut u64, u64) + Copy) {
        self.iter_mut().zip(other).for_each(|(count, other)| count.combine(other, with));
    }
}

impl<T: Counts> Counts for Vec<T> {
    fn combine(&mut self, other: &Self, with: impl Fn(&mut u64, u64) + Copy) {
        self.iter_mut().zip(other).for_each(|(count, other)| count.combine(other, with));
    }
}

/// Implements [`Counts`] for structs: `Type { its counts } { its other fields, which stay }`. Every field has to be named.
macro_rules! counts {
    ($($type:ident { $($count:ident),* } $({ $($kept:ident),* })?)*) => { $(
        impl $crate::counts::Counts for $type {
            #[inline]
            fn combine(&mut self, other: &Self, with: impl Fn(&mut u64, u64) + Copy) {
                let Self { $($count,)* $($($kept: _,)*)? } = self;
                $($count.combine(&other.$count, with);)*
            }
        }
    )* };
}
pub(crate) use counts;
