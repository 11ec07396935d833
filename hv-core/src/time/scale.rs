//! Ticks to nanoseconds.

/// What ticks of one frequency are multiplied and shifted by to make nanoseconds.
///
/// For a frequency from [`SLOWEST`](Self::SLOWEST) to [`FASTEST`](Self::FASTEST), any number of ticks, and no overflow on the way:
/// what would be more than 2^64 - 1 ns (584 years) is 2^64 - 1 ns. Up to 2^63 - 1 ns (292 years) the result is the exact one
/// rounded down, or 1 ns more; that of a whole number of nanoseconds is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// From 2^63 on: as exact as 64 bits can be. Rounded up.
    multiplier: u64,
    shift: u32,
}

const SECOND: u128 = 1_000_000_000;

impl Scale {
    /// The lowest frequency, in Hz.
    pub const SLOWEST: u64 = 1_000_000;

    /// The highest frequency, in Hz.
    pub const FASTEST: u64 = 10_000_000_000;

    /// The scale of a frequency in Hz; `None` below `SLOWEST` or beyond `FASTEST`.
    pub const fn new(hz: u64) -> Option<Self> {
        if hz < Self::SLOWEST || hz > Self::FASTEST {
            return None;
        }
        // 1000 * 2^54 and 0.1 * 2^67 are between 2^63 and 2^64, so there is one for each frequency.
        let mut shift = 67;
        while shift >= 54 {
            let multiplier = (SECOND << shift).div_ceil(hz as u128);
            if multiplier <= u64::MAX as u128 {
                return Some(Self {
                    multiplier: multiplier as u64,
                    shift,
                });
            }
            shift -= 1;
        }
        None
    }

    /// How long so many ticks take.
    #[inline]
    pub const fn nanoseconds(self, ticks: u64) -> u64 {
        let nanoseconds = (ticks as u128 * self.multiplier as u128) >> self.shift;
        if nanoseconds > u64::MAX as u128 {
            u64::MAX
        } else {
            nanoseconds as u64
        }
    }
}
