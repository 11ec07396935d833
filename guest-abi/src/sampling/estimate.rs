//! Estimated counts of events that were counted only part of the time.

use core::fmt;

/// A count for the whole time, estimated from the turns in which the event was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Estimate {
    /// The number of counted events.
    pub counted: u64,
    /// The number of ticks in which the event was counted.
    pub running: u64,
    /// The number of ticks in which any event was counted.
    pub enabled: u64,
    /// The estimated number of events in the whole time: `counted * enabled / running`, rounded.
    pub events: u64,
    /// One standard error of `events`, rounded up. 0 if the event was counted all the time. `None`
    /// if the event was counted in fewer than two turns, because one turn has no variance.
    ///
    /// The error is wrong if the program's behaviour changes in step with the turns.
    pub error: Option<u64>,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            Some(0) => write!(f, "{}", self.events),
            Some(error) => write!(f, "{} +- {error}", self.events),
            None => write!(f, "{} +- ?", self.events),
        }
    }
}

/// Statistics of the turns in which an event was counted. Rates are events per tick, with 32 fractional bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnStatistics {
    number: u64,
    rates: u128,
    squares: u128,
}

impl TurnStatistics {
    const FRACTION: u32 = 32;

    /// Adds a turn. Ignores a turn of 0 ticks.
    pub(super) fn add(&mut self, events: u64, ticks: u64) {
        if let Some(rate) = (u128::from(events) << Self::FRACTION).checked_div(ticks.into()) {
            self.number += 1;
            self.rates = self.rates.saturating_add(rate);
            self.squares = self.squares.saturating_add(rate.saturating_mul(rate));
        }
    }

    /// Returns the standard deviation of the rates, rounded up; `None` for fewer than two turns.
    fn deviation(&self) -> Option<u128> {
        let number = u128::from(self.number);
        let mean = self.rates.checked_div(number)?;
        // The sum of the squared deviations from the mean.
        let around = self
            .squares
            .saturating_add(number.saturating_mul(mean.saturating_mul(mean)))
            .saturating_sub((2 * mean).saturating_mul(self.rates));
        let variance = around.checked_div(number.checked_sub(1)?)?;
        Some(sqrt_up(variance))
    }

    /// Returns the estimate for `enabled` ticks from `counted` events in `running` ticks; `None` if `running` is 0.
    pub(super) fn estimate(&self, counted: u64, running: u64, enabled: u64) -> Option<Estimate> {
        let whole = enabled.max(running);
        let scaled = u128::from(counted) * u128::from(whole) + u128::from(running / 2);
        let events = scaled.checked_div(running.into())?;
        let missing = whole - running;
        let error = if missing == 0 {
            Some(0)
        } else {
            self.deviation().map(|deviation| {
                // The standard error of a total over N turns, estimated from n of them, is s * sqrt(N * (N - n) / n).
                // Here N and n are in ticks instead of turns.
                let squared =
                    (u128::from(whole) * u128::from(missing)).div_ceil(self.number.into());
                let error = sqrt_up(squared).saturating_mul(deviation);
                u64::try_from(error.div_ceil(1 << Self::FRACTION)).unwrap_or(u64::MAX)
            })
        };
        Some(Estimate {
            counted,
            running,
            enabled: whole,
            events: u64::try_from(events).unwrap_or(u64::MAX),
            error,
        })
    }
}

fn sqrt_up(square: u128) -> u128 {
    let root = square.isqrt();
    if root * root < square { root + 1 } else { root }
}

#[cfg(test)]
mod tests {
    use super::sqrt_up;

    #[test]
    fn roots_are_rounded_up() {
        let most = u128::from(u64::MAX);
        for (square, root) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 2),
            (5, 3),
            (9, 3),
            (10, 4),
            (most * most, most),
            (most * most + 1, 1 << 64),
            (u128::MAX, 1 << 64),
        ] {
            assert_eq!(sqrt_up(square), root, "of {square}");
        }
    }
}
