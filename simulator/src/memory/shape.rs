//! Sets, ways and lines of a cache.

use super::config::Cache;

/// The number of sets and ways of a cache, and the length of its lines.
#[derive(Clone, Copy, Debug)]
pub struct CacheShape {
    /// The binary logarithm of the bytes of a line.
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

    /// Returns the set of a line, and its tag in that set.
    #[inline(always)]
    pub(super) const fn place(&self, line: u64) -> (usize, u32) {
        (line as usize & (self.sets() - 1), (line >> self.set_shift) as u32)
    }

    pub(super) const fn line(&self, set: usize, tag: u32) -> u64 {
        (tag as u64) << self.set_shift | set as u64
    }
}
