//! Extends counters that wrap to 64 bits.

use guest_abi::clock::Width;

use crate::sync::plain::{AtomicU64, Ordering};

/// Extends the values of a counter to 64 bits.
///
/// Any number of strands may call [`extend`](Self::extend) concurrently. Some strand must do so at least once in every
/// [`longest_interval`](Self::longest_interval), a quarter of the counter's wrap. A value may be earlier or later by less than half a
/// wrap: a strand may be delayed between its read and the call, and the counters of strands may differ slightly.
#[derive(Debug)]
pub struct Wrap {
    width: Width,
    /// A count that is at most a quarter of a wrap old. Strands write it so rarely that their caches can share it.
    last: AtomicU64,
}

impl Wrap {
    /// Starts with `shown`, the present value of the counter. All functions ignore bits beyond the width.
    pub const fn new(width: Width, shown: u64) -> Self {
        Self { width, last: AtomicU64::new(shown & u64::MAX >> (64 - width.bits())) }
    }

    /// Returns the longest safe time between two calls of [`extend`](Self::extend), in ticks.
    pub const fn longest_interval(width: Width) -> u64 {
        1 << (width.bits() - 2)
    }

    /// Returns the value that the counter would show if it had 64 bits.
    #[inline]
    pub fn extend(&self, shown: u64) -> u64 {
        // Relaxed, here and below: any value of the last half wrap is right, and the word publishes no other memory.
        let last = self.last.load(Ordering::Relaxed);
        let beyond = 64 - self.width.bits();
        // The signed distance from the last value to this one is less than half a wrap.
        let distance = (shown.wrapping_sub(last) << beyond).cast_signed() >> beyond;
        let count = last.wrapping_add_signed(distance);
        if distance >= Self::longest_interval(self.width).cast_signed() {
            // If another strand has stored a value meanwhile, that value is right, too.
            let _ = self.last.compare_exchange(last, count, Ordering::Relaxed, Ordering::Relaxed);
        }
        count
    }
}
