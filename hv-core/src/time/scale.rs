//! Converts ticks to nanoseconds.

/// The multiplier and the shift that convert ticks of one frequency to nanoseconds.
///
/// The conversion works for any number of ticks, and any frequency from [`MIN_HZ`](Self::MIN_HZ) to [`MAX_HZ`](Self::MAX_HZ). It
/// saturates at 2^64 - 1 ns (584 years). Up to 2^63 - 1 ns (292 years), the conversion of ticks that last a whole number of nanoseconds is
/// exact. Any other result is the rounded-down exact value, or 1 ns more. Above 292 years, a result may be up to 2 ns more than the
/// rounded-down exact value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The factor for ticks, rounded up. It is at least 2^63, so that all 64 bits are significant.
    multiplier: u64,
    shift: u32,
}

const SECOND: u128 = 1_000_000_000;

impl Scale {
    /// The lowest frequency, in Hz.
    pub const MIN_HZ: u64 = 1;

    /// The highest frequency, in Hz.
    pub const MAX_HZ: u64 = 10_000_000_000;

    /// Returns the scale for a frequency in Hz, or `None` if it is below `MIN_HZ` or above `MAX_HZ`.
    pub const fn new(hz: u64) -> Option<Self> {
        if hz < Self::MIN_HZ || hz > Self::MAX_HZ {
            return None;
        }
        // The multipliers 10^9 * 2^34 (for `MIN_HZ`) and 0.1 * 2^67 (for `MAX_HZ`) are between 2^63 and 2^64, so each frequency
        // has a shift.
        let mut shift = 67;
        while shift >= 34 {
            let multiplier = (SECOND << shift).div_ceil(hz as u128);
            if multiplier <= u64::MAX as u128 {
                return Some(Self { multiplier: multiplier as u64, shift });
            }
            shift -= 1;
        }
        None
    }

    /// Converts ticks to nanoseconds. The result saturates at 2^64 - 1.
    #[inline]
    pub const fn nanoseconds(self, ticks: u64) -> u64 {
        let nanoseconds = (ticks as u128 * self.multiplier as u128) >> self.shift;
        if nanoseconds >> 64 == 0 { nanoseconds as u64 } else { u64::MAX }
    }
}
