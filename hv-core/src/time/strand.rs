//! The time on a strand, which never goes back.

use guest_abi::StrandId;
use guest_abi::clock::{Clock, ClockSource};

use super::Timekeeper;
use crate::sync::plain::{AtomicU64, Ordering};

/// A strand's clock: nanoseconds since the [`Timekeeper`] was made, never fewer than before on this strand.
///
/// Where its source goes back, and where the time would after a change of source, it stands still until it is overtaken. It stands
/// still, too, while the source cannot be read.
#[derive(Debug)]
pub struct StrandClock<'a, S, const N: usize> {
    keeper: &'a Timekeeper<S, N>,
    strand: StrandId,
    last: AtomicU64,
}

impl<'a, S: ClockSource, const N: usize> StrandClock<'a, S, N> {
    pub(super) fn new(keeper: &'a Timekeeper<S, N>, strand: StrandId) -> Self {
        Self {
            keeper,
            strand,
            last: AtomicU64::new(0),
        }
    }
}

impl<S: ClockSource, const N: usize> Clock for StrandClock<'_, S, N> {
    /// Nanoseconds. Only ever asked for on its strand.
    #[inline]
    fn ticks(&self) -> u64 {
        match self.keeper.time(self.strand) {
            // Atomic for a trap in the midst of this, which reads the clock too. No other strand writes here.
            Some(time) => self.last.fetch_max(time, Ordering::Relaxed).max(time),
            None => self.last.load(Ordering::Relaxed),
        }
    }
}
