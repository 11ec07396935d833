//! Sets of numbered values, with one bit for each value.

macro_rules! bit_set {
    ($(#[$doc:meta])* $set:ident($bits:ty) of $item:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[must_use]
        pub struct $set($bits);

        impl $set {
            /// The set without any value, in which all bits are 0.
            pub const NONE: Self = Self(0);

            /// Returns the set with `value` added.
            pub const fn with(self, value: $item) -> Self {
                Self(self.0 | 1 << value.index())
            }

            /// Returns a new set with the values of both sets. To add a single value, call [`with`](Self::with).
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns `true` if the set contains `value`, which means that the bit of `value` is 1.
            pub const fn contains(self, value: $item) -> bool {
                self.0 >> value.index() & 1 != 0
            }

            /// Returns `true` if the set contains no value: it then equals [`NONE`](Self::NONE).
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns the number of values in the set, which is the number of bits that are 1.
            pub const fn len(self) -> usize {
                self.0.count_ones() as usize
            }

            /// Returns the values in the set, in the order of their numbers.
            pub fn iter(self) -> impl Iterator<Item = $item> + Clone {
                let all = <$item>::ALL.iter().copied();
                all.filter(move |value| self.contains(*value))
            }
        }

        impl FromIterator<$item> for $set {
            fn from_iter<I: IntoIterator<Item = $item>>(values: I) -> Self {
                values.into_iter().fold(Self::NONE, Self::with)
            }
        }

        impl core::fmt::Debug for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_set().entries(self.iter()).finish()
            }
        }
    };
}
pub(crate) use bit_set;
