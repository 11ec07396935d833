//! The figures that the memory system reads from a [configuration](Config). The memory system is compiled twice: for a T2 Plus,
//! whose figures are constants, and for all other configurations.

use std::fmt::Debug;

use super::config::{CacheShape, Config};
use super::geometry::PARTS;
use super::l1::{AnySets, FixedSets, Sets};
use super::timing::Timing;
use crate::recording::FETCH_SHIFT;

/// The sizes of the caches, and all times.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub(super) l1i: CacheShape,
    pub(super) l1d: CacheShape,
    pub(super) l2: CacheShape,
    pub(super) timing: Timing,
    /// The copies of stored bytes; see [`super::copies`].
    pub(super) stored: [u64; PARTS],
}

// In a shape, a fetch from the same aligned `1 << FETCH_SHIFT` bytes as the previous fetch is not a step. So these bytes must lie
// in one line.
const _: () = assert!(FETCH_SHIFT <= Figures::T2_PLUS.l1i.line_shift);

impl Figures {
    const T2_PLUS: Self = Self::new(&Config::T2_PLUS);

    pub(super) const fn new(config: &Config) -> Self {
        let (l1i, l1d) = (CacheShape::new(&config.l1i), CacheShape::new(&config.l1d));
        Self {
            l1i,
            l1d,
            l2: CacheShape::new(&config.l2),
            timing: config.timing,
            stored: Self::stored(&l1i, &l1d),
        }
    }
}

/// Where the figures come from: compile-time constants for a T2 Plus, or values for any other configuration.
pub trait Variant: Copy + Debug {
    /// The storage of an instruction cache.
    type Instructions: Sets;
    /// The storage of a data cache.
    type Data: Sets;

    /// Returns the cache sizes and all times.
    fn figures(&self) -> &Figures;
}

/// The figures of a T2 Plus, as constants.
#[derive(Clone, Copy, Debug)]
pub struct T2Plus;

impl Variant for T2Plus {
    type Instructions = FixedSets<{ Figures::T2_PLUS.l1i.sets() }, { Figures::T2_PLUS.l1i.ways }>;
    type Data = FixedSets<{ Figures::T2_PLUS.l1d.sets() }, { Figures::T2_PLUS.l1d.ways }>;

    #[inline(always)]
    fn figures(&self) -> &Figures {
        const { &Figures::T2_PLUS }
    }
}

impl Variant for Figures {
    type Instructions = AnySets;
    type Data = AnySets;

    #[inline(always)]
    fn figures(&self) -> &Figures {
        self
    }
}
