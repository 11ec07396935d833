//! A bound on how much time interrupts take.

use core::num::{NonZeroU32, NonZeroU64};

/// The most interrupts of a counter in a number of ticks. If it interrupts more often, its period is doubled, until the counter
/// keeps to the bound; the period is halved again when there are no more than a quarter of these interrupts. Each sample has
/// the number of events that it stands for, so samples can be compared across such changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// The most interrupts
    pub interrupts: NonZeroU32,
    /// while the clock advances by this many ticks.
    pub ticks: NonZeroU64,
}

/// How far a counter is throttled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Throttled {
    window_start: u64,
    in_window: u32,
    doublings: u32,
}

impl Throttled {
    /// 2^31 times any period is no less than the longest.
    const MOST: u32 = 31;

    /// Returns how many times the period is doubled.
    pub(super) const fn doublings(&self) -> u32 {
        self.doublings
    }

    /// Takes note of an interrupt at this time. Returns `true` if it was one too many, so that the period is doubled.
    pub(super) fn interrupt(&mut self, bound: &Throttle, now: u64) -> bool {
        if now.saturating_sub(self.window_start) >= bound.ticks.get() {
            if self.in_window <= bound.interrupts.get() / 4 {
                self.doublings = self.doublings.saturating_sub(1);
            }
            self.window_start = now;
            self.in_window = 0;
        }
        self.in_window += 1;
        if self.in_window <= bound.interrupts.get() {
            return false;
        }
        self.window_start = now;
        self.in_window = 0;
        self.doublings = (self.doublings + 1).min(Self::MOST);
        true
    }
}
