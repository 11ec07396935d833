//! What the replay reads of a [configuration](Config). It is compiled twice: for a T2 Plus, whose figures are constants, and for
//! any other machine.

use std::fmt::Debug;

use super::config::{Cache, Config};
use super::l1::{Fixed, Sets, Sized};
use super::timing::Timing;
use crate::recording::FETCH_SHIFT;

/// The shape of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// A line has 2 to this power bytes.
    pub(super) line_shift: u32,
    /// There are 2 to this power sets.
    set_shift: u32,
    pub(super) ways: usize,
}

impl Shape {
    pub(super) const fn new(cache: &Cache) -> Self {
        Self {
            line_shift: cache.line.trailing_zeros(),
            set_shift: cache.sets().trailing_zeros(),
            ways: cache.ways as usize,
        }
    }

    /// Returns how many sets there are.
    pub(super) const fn sets(&self) -> usize {
        1 << self.set_shift
    }

    /// Returns the set of a line, and its tag there.
    #[inline(always)]
    pub(super) const fn place(&self, line: u64) -> (usize, u32) {
        (
            line as usize & (self.sets() - 1),
            (line >> self.set_shift) as u32,
        )
    }

    /// Returns the line that has this tag in this set.
    pub(super) const fn line(&self, set: usize, tag: u32) -> u64 {
        (tag as u64) << self.set_shift | set as u64
    }
}

/// The figures of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub(super) l1i: Shape,
    pub(super) l1d: Shape,
    pub(super) l2: Shape,
    pub(super) timing: Timing,
}

// What a step skips is fetched already.
const _: () = assert!(FETCH_SHIFT <= Figures::T2_PLUS.l1i.line_shift);

impl Figures {
    const T2_PLUS: Self = Self::new(&Config::T2_PLUS);

    pub(super) const fn new(config: &Config) -> Self {
        Self {
            l1i: Shape::new(&config.l1i),
            l1d: Shape::new(&config.l1d),
            l2: Shape::new(&config.l2),
            timing: config.timing,
        }
    }
}

/// What knows the figures of a machine.
pub trait Variant: Copy + Debug {
    /// The sets of an instruction cache.
    type Instructions: Sets;
    /// The sets of a data cache.
    type Data: Sets;

    /// Returns the figures.
    fn figures(&self) -> &Figures;
}

/// A T2 Plus.
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

/// Any machine.
impl Variant for Figures {
    type Instructions = Sized;
    type Data = Sized;

    #[inline(always)]
    fn figures(&self) -> &Figures {
        self
    }
}
