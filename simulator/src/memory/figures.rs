//! The figures that the memory system reads from a [configuration](Config). The memory system is compiled twice: for a T2 Plus,
//! whose figures are constants, and for all other configurations.

use std::fmt::Debug;

use super::config::{Cache, Config};
use super::l1::{Fixed, Sets, Sized};
use super::timing::Timing;
use crate::recording::FETCH_SHIFT;

/// The sizes of a cache and its lines.
#[derive(Clone, Copy, Debug)]
pub struct CacheShape {
    /// The binary logarithm of the number of bytes in a line.
    pub(super) line_shift: u32,
    /// The binary logarithm of the number of sets.
    set_shift: u32,
    pub(super) ways: usize,
}

impl CacheShape {
    pub(super) const fn new(cache: &Cache) -> Self {
        Self {
            line_shift: cache.line.trailing_zeros(),
            set_shift: cache.sets().trailing_zeros(),
            ways: cache.ways as usize,
        }
    }

    pub(super) const fn sets(&self) -> usize {
        1 << self.set_shift
    }

    /// Returns the set that a line belongs to, and the line's tag in that set.
    #[inline(always)]
    pub(super) const fn place(&self, line: u64) -> (usize, u32) {
        (line as usize & (self.sets() - 1), (line >> self.set_shift) as u32)
    }

    pub(super) const fn line(&self, set: usize, tag: u32) -> u64 {
        (tag as u64) << self.set_shift | set as u64
    }
}

/// The sizes of the caches, and all times.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub(super) l1i: CacheShape,
    pub(super) l1d: CacheShape,
    pub(super) l2: CacheShape,
    pub(super) timing: Timing,
}

// A shape has no step for a fetch from the `1 << FETCH_SHIFT` bytes that were fetched last. So these bytes must be in one line.
const _: () = assert!(FETCH_SHIFT <= Figures::T2_PLUS.l1i.line_shift);

impl Figures {
    const T2_PLUS: Self = Self::new(&Config::T2_PLUS);

    pub(super) const fn new(config: &Config) -> Self {
        Self {
            l1i: CacheShape::new(&config.l1i),
            l1d: CacheShape::new(&config.l1d),
            l2: CacheShape::new(&config.l2),
            timing: config.timing,
        }
    }
}

/// The source of the figures: compile-time constants for a T2 Plus, or values for any other configuration.
pub trait Variant: Copy + Debug {
    /// The storage of an instruction cache.
    type Instructions: Sets;
    /// The storage of a data cache.
    type Data: Sets;

    /// Returns the sizes of the caches, and all times.
    fn figures(&self) -> &Figures;
}

/// The figures of a T2 Plus, as constants.
#[derive(Clone, Copy, Debug)]
pub struct T2Plus;

impl Variant for T2Plus {
    type Instructions = Fixed<{ Figures::T2_PLUS.l1i.sets() }, { Figures::T2_PLUS.l1i.ways }>;
    type Data = Fixed<{ Figures::T2_PLUS.l1d.sets() }, { Figures::T2_PLUS.l1d.ways }>;

    #[inline(always)]
    fn figures(&self) -> &Figures {
        const { &Figures::T2_PLUS }
    }
}

impl Variant for Figures {
    type Instructions = Sized;
    type Data = Sized;

    #[inline(always)]
    fn figures(&self) -> &Figures {
        self
    }
}
