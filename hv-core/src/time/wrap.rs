//! Counters that wrap, made into counters that do not.

use guest_abi::clock::Width;

use crate::sync::plain::{AtomicU64, Ordering};

/// The 64 bits of a counter that has fewer.
///
/// Any number of strands extend it at the same time. It must be read at least once in every
/// [`longest_interval`](Self::longest_interval), a quarter of its wrap. What another strand reads meanwhile may be later or
/// earlier, by less than half a wrap: so a strand that was held up, and counters of strands that are not quite the same, do no
/// harm.
#[derive(Debug)]
pub struct Wrap {
    width: Width,
    /// What it was at most a quarter of a wrap ago: written so seldom that strands share it in their caches.
    last: AtomicU64,
}

impl Wrap {
    /// Starts with what the counter shows now. Bits beyond its width are ignored, here and below.
    pub const fn new(width: Width, shown: u64) -> Self {
        Self {
            width,
            last: AtomicU64::new(shown & u64::MAX >> (64 - width.bits())),
        }
    }

    /// The longest time between two reads, in ticks, that is safe.
    pub const fn longest_interval(width: Width) -> u64 {
        1 << (width.bits() - 2)
    }

    /// What the counter would show if it had 64 bits.
    #[inline]
    pub fn extend(&self, shown: u64) -> u64 {
        let last = self.last.load(Ordering::Relaxed);
        let beyond = 64 - self.width.bits();
        // How far it is from the last value to this one: less than half a wrap, forward or back.
        let apart = (shown.wrapping_sub(last) << beyond).cast_signed() >> beyond;
        let count = last.wrapping_add_signed(apart);
        if apart >= Self::longest_interval(self.width).cast_signed() {
            // If another strand was faster, its value is as good.
            let _ = self
                .last
                .compare_exchange(last, count, Ordering::Relaxed, Ordering::Relaxed);
        }
        count
    }
}
