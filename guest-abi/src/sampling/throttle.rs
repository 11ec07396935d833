//! A bound on how much time interrupts take.

use core::num::{NonZeroU32, NonZeroU64};

/// A counter may interrupt so often in so many ticks. One that does it more often has its period doubled, again and again
/// until it keeps to the bound; the period is halved again when it takes a quarter of what it may. Samples say
/// what period they stand for, so they can be compared across such changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// The most interrupts,
    pub interrupts: NonZeroU32,
    /// while the clock goes on by so many ticks.
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
    /// 2^31 times the period is more than any.
    const MOST: u32 = 31;

    /// How often the period is doubled.
    pub(super) const fn doublings(&self) -> u32 {
        self.doublings
    }

    /// An interrupt comes at this time. Whether it was one too many, and the period has been doubled.
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
