//! Sets of modes.

use core::fmt;
use core::marker::PhantomData;
use core::ops::BitOr;

/// What a processor may be doing when an event happens, as far as its counters tell it apart.
pub trait UnitMode: Copy + Eq + fmt::Debug + 'static {
    /// All of them, at most 8. A mode is at the place of its [`index`](Self::index).
    const ALL: &'static [Self];

    /// Its number, from 0.
    fn index(self) -> usize;
}

/// Some of a processor's modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModeSet<M>(u8, PhantomData<M>);

impl<M: UnitMode> ModeSet<M> {
    /// No mode.
    pub const NONE: Self = Self(0, PhantomData);

    /// Every mode.
    pub const ALL: Self = Self(
        {
            assert!(M::ALL.len() <= 8, "a set has room for 8 modes");
            ((1_u16 << M::ALL.len()) - 1) as u8
        },
        PhantomData,
    );

    /// Whether this one is in it.
    pub fn contains(self, mode: M) -> bool {
        self.0 & Self::from(mode).0 != 0
    }

    /// Whether there is none in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those in it, in order.
    pub fn iter(self) -> impl Iterator<Item = M> {
        M::ALL
            .iter()
            .copied()
            .filter(move |mode| self.contains(*mode))
    }

    /// Every set of modes there is.
    pub fn every() -> impl Iterator<Item = Self> {
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
        modes
            .into_iter()
            .fold(Self::NONE, |set, mode| set | mode.into())
    }
}

impl<M: UnitMode> fmt::Debug for ModeSet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
