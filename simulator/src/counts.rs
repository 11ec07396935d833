//! Adds and subtracts structs of counts, field by field.

/// A struct of counts. [`counts!`] implements this trait, and does not compile unless it names all fields of the struct.
pub(crate) trait Counts {
    /// Calls `with` for each count, with the corresponding count of `other`.
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

/// Implements [`Counts`] for structs: `Type { its counts } { its other fields, which do not change }`. Every field must
/// be named.
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
