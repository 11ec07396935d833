//! The modes of a processor, and sets of modes.

use core::fmt;
use core::marker::PhantomData;
use core::ops::BitOr;

/// A mode of a processor. Counters can be restricted to some modes.
pub trait UnitMode: Copy + Eq + fmt::Debug + 'static {
    /// All modes, at most 8, in the order of their [`index`](Self::index).
    const ALL: &'static [Self];

    /// Returns the mode's number, from 0.
    fn index(self) -> usize;
}

/// A set of modes, such as the modes in which a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub struct ModeSet<M>(u8, PhantomData<M>);

impl<M: UnitMode> ModeSet<M> {
    /// The set without any mode. A counter with this set counts nothing.
    pub const NONE: Self = Self(0, PhantomData);

    /// The set of all modes of the processor. A counter with this set counts in every mode.
    pub const ALL: Self = Self(
        {
            assert!(M::ALL.len() <= 8, "a set has room for 8 modes");
            ((1_u16 << M::ALL.len()) - 1) as u8
        },
        PhantomData,
    );

    /// Returns `true` if `mode` is in the set, so that a counter with this set counts in `mode`.
    pub fn contains(self, mode: M) -> bool {
        self.0 & Self::from(mode).0 != 0
    }

    /// Returns `true` if the set contains no mode: it then equals [`NONE`](Self::NONE).
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of modes in the set, 0 to 8.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the modes in the set, in the order of [`UnitMode::ALL`].
    pub fn iter(self) -> impl Iterator<Item = M> {
        let all = M::ALL.iter().copied();
        all.filter(move |mode| self.contains(*mode))
    }

    /// Returns every possible set, the empty one first.
    pub fn subsets() -> impl Iterator<Item = Self> {
        (0..=Self::ALL.0).map(|bits| Self(bits, PhantomData))
    }
}

impl<M: UnitMode> From<M> for ModeSet<M> {
    fn from(mode: M) -> Self {
        Self(1 << (mode.index() & 7), PhantomData)
    }
}

impl<M: UnitMode> BitOr for ModeSet<M> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0, PhantomData)
    }
}

impl<M: UnitMode> FromIterator<M> for ModeSet<M> {
    fn from_iter<I: IntoIterator<Item = M>>(modes: I) -> Self {
        let sets = modes.into_iter().map(Self::from);
        sets.fold(Self::NONE, Self::bitor)
    }
}

impl<M: UnitMode> fmt::Debug for ModeSet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
