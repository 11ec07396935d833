//! Measures a clock's frequency against another clock.

use core::fmt;

use guest_abi::clock::Description;

/// A clock's count, read between two reads of a reference. Counts have 64 bits: see [`WrapExtender`](super::WrapExtender).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The reference's count, read before the clock.
    pub before: u64,
    /// The measured clock's count.
    pub count: u64,
    /// The reference's count, read after the clock.
    pub after: u64,
}

/// The bounds of a measured frequency, in millihertz. The bounds are correct if the reference has its nominal frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// The lower bound of the frequency, in millihertz.
    pub min: u64,
    /// The upper bound of the frequency, in millihertz.
    pub max: u64,
}

impl Frequency {
    /// Returns the midpoint of the bounds, in millihertz.
    pub const fn millihertz(self) -> u64 {
        self.min.midpoint(self.max)
    }

    /// Returns the maximum error of [`millihertz`](Self::millihertz), in millihertz.
    pub const fn uncertainty(self) -> u64 {
        self.max.saturating_sub(self.millihertz())
    }
}

/// Prints the frequency in Hz with three decimal places: `1000000000.000 ±1.500 Hz`.
impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [middle, error] =
            [self.millihertz(), self.uncertainty()].map(|of| (of / 1000, of % 1000));
        write!(f, "{}.{:03} ±{}.{:03} Hz", middle.0, middle.1, error.0, error.1)
    }
}

/// Measures the frequency of a clock. Until the readings span two [`WINDOW`](Self::WINDOW)s, the result covers all readings, and each
/// reading makes it more accurate. Later, the result covers the last one to two windows, so it follows changes in the frequency.
#[derive(Clone, Copy, Debug)]
pub struct FrequencyMeter {
    /// The steps of the clock and of the reference: how many ticks each of them advances at a time.
    steps: [u64; 2],
    reference_hz: u64,
    readings: Option<Readings>,
}

#[derive(Clone, Copy, Debug)]
struct Readings {
    from: Reading,
    /// The next value of `from`: the first reading that is at least a window after `from`.
    next: Option<Reading>,
    last: Reading,
}

impl FrequencyMeter {
    /// The minimum duration that a result covers, in seconds. Until the end of the first window, results cover less.
    pub const WINDOW: u64 = 60;

    /// Returns a meter that measures the frequency of `clock` against `reference`.
    pub const fn new(clock: &Description, reference: &Description) -> Self {
        Self { steps: [clock.step, reference.step], reference_hz: reference.hz, readings: None }
    }

    /// Adds a reading. If the clock or the reference shows an earlier time than before, the measurement starts over.
    pub fn add(&mut self, reading: Reading) {
        let window = self.reference_hz.saturating_mul(Self::WINDOW);
        let is_full = |from: Reading| reading.before.checked_sub(from.after) >= Some(window.max(1));
        let mut readings = match self.readings {
            Some(old) if reading.count >= old.last.count && reading.before >= old.last.after => old,
            _ => Readings { from: reading, next: None, last: reading },
        };
        readings.last = reading;
        if is_full(readings.next.unwrap_or(readings.from)) {
            readings.from = readings.next.unwrap_or(readings.from);
            readings.next = Some(reading);
        }
        self.readings = Some(readings);
    }

    /// Returns the frequency; `None` if the readings are too close together.
    pub fn frequency(&self) -> Option<Frequency> {
        let Readings { from, last, .. } = self.readings?;
        let [step, reference_step] = self.steps;
        let counted = last.count.saturating_sub(from.count);
        let shortest = last.before.checked_sub(from.after)?.checked_sub(reference_step)?;
        let longest = last.after.checked_sub(from.before)?.saturating_add(reference_step);
        let per = u128::from(self.reference_hz) * 1000;
        let min = (u128::from(counted.saturating_sub(step)) * per).checked_div(longest.into())?;
        // Rounds up, so that the bound is never too low.
        let max = (u128::from(counted.saturating_add(step)) * per)
            .saturating_sub(1)
            .checked_div(shortest.into())?
            .saturating_add(1);
        let [min, max] = [min, max].map(|of| u64::try_from(of).unwrap_or(u64::MAX));
        Some(Frequency { min, max })
    }
}
