//! Words of memory, and the operations on them, as numbers.

/// A word that a strand accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordLocation {
    pub(super) address: usize,
    /// The value that the word has before any strand begins.
    pub(super) initial: u64,
    /// A mask with a 1 for each bit of the word.
    pub(super) mask: u64,
}

/// An operation on a word. All operations return the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordOperation {
    Load,
    Swap(u64),
    Add(u64),
    Sub(u64),
    And(u64),
    Or(u64),
    Xor(u64),
    Max(u64),
    Min(u64),
    /// If the word holds the first value, replaces this value with the second.
    Exchange(u64, u64),
}

macro_rules! named {
    ($($name:ident $operation:ident)*) => {$(
        pub(super) const fn $name(value: u64) -> Self {
            Self::$operation(value)
        }
    )*};
}

impl WordOperation {
    named! {
        swap Swap fetch_add Add fetch_sub Sub fetch_and And fetch_or Or fetch_xor Xor
        fetch_max Max fetch_min Min
    }

    pub(super) const fn writes(self) -> bool {
        !matches!(self, Self::Load)
    }

    /// Returns the word's value after the operation.
    pub(super) fn apply(self, old: u64, mask: u64) -> u64 {
        let new = match self {
            Self::Load => old,
            Self::Swap(value) => value,
            Self::Add(value) => old.wrapping_add(value),
            Self::Sub(value) => old.wrapping_sub(value),
            Self::And(value) => old & value,
            Self::Or(value) => old | value,
            Self::Xor(value) => old ^ value,
            Self::Max(value) => old.max(value),
            Self::Min(value) => old.min(value),
            Self::Exchange(expected, new) if old == expected => new,
            Self::Exchange(..) => old,
        };
        new & mask
    }
}

/// A type whose values a word can hold.
pub(super) trait Value: Copy {
    const MASK: u64;
    fn into_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

impl Value for bool {
    const MASK: u64 = 1;

    fn into_word(self) -> u64 {
        self.into()
    }

    fn from_word(word: u64) -> Self {
        word != 0
    }
}

macro_rules! values {
    ($($value:ty)*) => {$(
        impl Value for $value {
            const MASK: u64 = <$value>::MAX as u64;

            fn into_word(self) -> u64 {
                self.into()
            }

            fn from_word(word: u64) -> Self {
                word as Self
            }
        }
    )*};
}

values!(u8 u32 u64);
