//! The clock of a strand, which never goes back.

use guest_abi::StrandId;
use guest_abi::clock::{Clock, ClockSource};

use super::Timekeeper;
use crate::sync::plain::{AtomicU64, Ordering};

/// The clock of a strand: nanoseconds since the creation of the [`Timekeeper`]. It never goes back.
///
/// If the time of the timekeeper goes back, the clock stands still until that time has caught up with it. The clock also
/// stands still while the source cannot be read.
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
    /// Returns the time in nanoseconds. Only the clock's own strand may call it.
    #[inline]
    fn ticks(&self) -> u64 {
        match self.keeper.time(self.strand) {
            // Atomic because a trap handler may read the clock in the middle of this call. Relaxed: no other strand uses it.
            Some(time) => self.last.fetch_max(time, Ordering::Relaxed).max(time),
            None => self.last.load(Ordering::Relaxed),
        }
    }
}
