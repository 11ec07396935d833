//! A limit on the interrupt rate.

use core::num::{NonZeroU32, NonZeroU64};

/// A limit on a counter's interrupt rate. The counter's period doubles while the counter exceeds the limit. After a window with at most a
/// quarter of the permitted interrupts, one doubling is undone. Each sample states how many events it represents, so samples taken at
/// different periods can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Throttle {
    /// The maximum number of interrupts in a window.
    pub interrupts: NonZeroU32,
    /// The length of a window, in ticks of the profiler's clock.
    pub ticks: NonZeroU64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThrottleState {
    window_start: u64,
    in_window: u32,
    doublings: u32,
}

impl ThrottleState {
    /// The maximum number of doublings. More doublings have no effect: 2^31 times any period is at least the longest period.
    const MAX_DOUBLINGS: u32 = 31;

    pub(super) const fn doublings(&self) -> u32 {
        self.doublings
    }

    /// Counts an interrupt at the time `now`. Returns `true` if the interrupt exceeds the limit and so doubles the period.
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
        self.doublings = (self.doublings + 1).min(Self::MAX_DOUBLINGS);
        true
    }
}
