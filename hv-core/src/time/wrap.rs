//! Extends the values of counters with fewer than 64 bits to 64-bit values, which keep growing when the counter wraps.

use guest_abi::clock::Width;

use crate::sync::plain::{AtomicU64, Ordering};

/// Extends the values of a counter to 64 bits.
///
/// - Any number of strands may call [`extend`](Self::extend) concurrently.
/// - At least one call is needed in every [`longest_interval`](Self::longest_interval), which is a quarter of the counter's range. Any
///   strand may make this call.
/// - A value may be older or newer than the stored value by less than half of the counter's range. A strand may therefore be delayed
///   between reading the counter and making the call.
#[derive(Debug)]
pub struct WrapExtender {
    width: Width,
    /// The stored count. After each call, the counter is at most a quarter of its range ahead of this count. Writes are rare, so all caches
    /// can hold the word.
    last: AtomicU64,
}

impl WrapExtender {
    /// Starts with `shown`, the current value of the counter. All functions ignore bits beyond the width.
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
        // All accesses to `last` are relaxed, because any value that was stored within the last half of a wrap gives the right
        // result, and no other memory depends on this word.
        let last = self.last.load(Ordering::Relaxed);
        let beyond = 64 - self.width.bits();
        // The signed distance from the stored value to `shown` is less than half of the range.
        let distance = (shown.wrapping_sub(last) << beyond).cast_signed() >> beyond;
        let count = last.wrapping_add_signed(distance);
        if distance >= Self::longest_interval(self.width).cast_signed() {
            // If another strand has stored a value in the meantime, that value is correct too.
            let _ = self.last.compare_exchange(last, count, Ordering::Relaxed, Ordering::Relaxed);
        }
        count
    }
}
