//! Finds the ratio for a wanted rate.

use core::fmt;

use super::{EXTERNAL, Input, Register};

/// The values of NUMERATOR and DENOMINATOR, and of CLOCK_SOURCE if the device has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    source: Option<InputClock>,
    numerator: u16,
    denominator: u16,
    hz: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputClock {
    /// The crystal, multiplied by 1 to 256 and divided by 1 to 32.
    Crystal {
        multiplier: u16,
        divider: u8,
    },
    External,
}

/// Why no setting exists for a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RatioError {
    /// One of the rates is 0, or none of the device's input clocks is as fast as the wanted rate.
    InputTooSlow,
    /// The input clock (from NV41 on, the crystal divided by 32) is more than 65,535 times faster than the wanted rate.
    InputTooFast,
}

impl fmt::Display for RatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputTooSlow => "the clock is too slow for this rate",
            Self::InputTooFast => "the clock is too fast for this rate",
        })
    }
}

impl core::error::Error for RatioError {}

impl Setting {
    /// Returns the setting for a counter rate in Hz. If 16-bit numbers cannot reach the rate, returns the setting for the nearest possible
    /// rate.
    ///
    /// From NV41 on, the setting multiplies the crystal's rate until it is at least twice the wanted rate, but not above the external
    /// clock's rate. The intervals between counts are then more even. If no multiple reaches the wanted rate, the setting selects the
    /// external clock. The setting divides the crystal only for rates that the ratio alone cannot reach.
    pub fn for_rate(input: Input, hz: u32) -> Result<Self, RatioError> {
        // The rate of the input is `input_hz / divider`.
        let (input_hz, divider, source) = match input {
            Input::Nv03 { memory_hz: hz } | Input::Nv04 { core_hz: hz } => (u64::from(hz), 1, None),
            Input::Nv41 { crystal_hz, external_hz } => {
                let (input_hz, divider, source) = InputClock::for_rate(crystal_hz, external_hz, hz);
                (input_hz, divider, Some(source))
            }
        };
        if hz == 0 || input_hz < u64::from(hz) {
            return Err(RatioError::InputTooSlow);
        }
        // A divider above 1 is used only for rates below 2^17.
        let (numerator, denominator) =
            nearest(input_hz, hz.saturating_mul(divider)).ok_or(RatioError::InputTooFast)?;
        // The products are at most 2^40 * 2^16. The rounded rate exceeds 32 bits only if `hz` is just below 2^32.
        let per = u64::from(numerator) * u64::from(divider);
        let parts = input_hz * u64::from(denominator) + per / 2;
        let rounded = parts.checked_div(per);
        Ok(Self {
            source,
            numerator,
            denominator,
            hz: rounded.and_then(|hz| u32::try_from(hz).ok()).unwrap_or(u32::MAX),
        })
    }

    /// Returns the value of a register; `None` if the register is not part of a setting, or the device does not have it.
    pub fn value(&self, register: Register) -> Option<u32> {
        match register {
            Register::Numerator => Some(self.numerator.into()),
            Register::Denominator => Some(self.denominator.into()),
            Register::ClockSource => self.source.map(InputClock::register),
            _ => None,
        }
    }

    /// Returns the rate of the counter, rounded to Hz.
    pub fn hz(&self) -> u32 {
        self.hz
    }
}

impl InputClock {
    /// Chooses the source for the wanted rate `hz`. Returns the source's rate as a fraction (dividend, divider), and the source.
    fn for_rate(crystal_hz: u32, external_hz: u32, hz: u32) -> (u64, u32, Self) {
        let times = |hz: u64, most| hz.checked_div(crystal_hz.into()).unwrap_or(1).clamp(1, most);
        // The largest multiple that the external clock allows, if the rate of that clock is known.
        let most = match external_hz {
            0 => 256,
            _ => times(external_hz.into(), 256),
        };
        let twice = (2 * u64::from(hz)).saturating_add(u64::from(crystal_hz).saturating_sub(1));
        let multiplier = times(twice, most);
        let multiple = u64::from(crystal_hz) * multiplier;
        if multiple < hz.into() && external_hz >= hz {
            return (external_hz.into(), 1, Self::External);
        }
        let reached = u64::from(hz) * u64::from(u16::MAX);
        let divider = multiple.div_ceil(reached.max(1)).clamp(1, 32) as u8;
        let source = Self::Crystal { multiplier: multiplier as u16, divider };
        (multiple, divider.into(), source)
    }

    fn register(self) -> u32 {
        match self {
            Self::Crystal { multiplier, divider } => {
                (u32::from(divider) - 1) << 8 | (u32::from(multiplier) - 1)
            }
            Self::External => EXTERNAL,
        }
    }
}

/// A convergent of a continued fraction, as numerator and denominator.
#[derive(Clone, Copy)]
struct Convergent(u64, u64);

/// Returns the fraction nearest to `a / b`, with a numerator below 2^16. `a / b` is at least 1. Returns `None` if `a / b` is
/// 2^16 or more.
///
/// The result is the last convergent that fits, or the semiconvergent after it with the largest numerator.
fn nearest(a: u64, b: u32) -> Option<(u16, u16)> {
    const MAX: u64 = u16::MAX as u64;
    let (mut dividend, mut divisor) = (a, u64::from(b));
    let (mut before, mut last) = (Convergent(0, 1), Convergent(1, 0));
    // Each numerator is at least the sum of the previous two, so the loop ends after at most 25 steps.
    while let Some(quotient) = dividend.checked_div(divisor) {
        let fits = (MAX - before.0).checked_div(last.0)?;
        let taken = quotient.min(fits);
        let next = Convergent(before.0 + taken * last.0, before.1 + taken * last.1);
        if taken < quotient {
            if last.1 == 0 {
                return None;
            }
            if taken > 0 && distance(next, a, b, last) < distance(last, a, b, next) {
                last = next;
            }
            break;
        }
        (before, last) = (last, next);
        (dividend, divisor) = (divisor, dividend % divisor);
    }
    Some((last.0 as u16, last.1 as u16))
}

/// Returns the distance of `of` from `a / b`, multiplied by `b` and by the denominators of `of` and `other`. The product is an
/// integer, so the distances of `of` and `other` can be compared exactly.
fn distance(of: Convergent, a: u64, b: u32, other: Convergent) -> u128 {
    let (found, wanted) = (u128::from(of.0) * u128::from(b), u128::from(a) * u128::from(of.1));
    found.abs_diff(wanted) * u128::from(other.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptimer::NANOSECONDS;

    fn clocks(crystal_hz: u32, external_hz: u32) -> Input {
        Input::Nv41 { crystal_hz, external_hz }
    }

    fn crystal(crystal_hz: u32) -> Input {
        clocks(crystal_hz, 0)
    }

    fn chip(core_hz: u32) -> Input {
        Input::Nv04 { core_hz }
    }

    fn times(multiplier: u16) -> Option<InputClock> {
        Some(InputClock::Crystal { multiplier, divider: 1 })
    }

    fn setting(source: Option<InputClock>, numerator: u16, denominator: u16, hz: u32) -> Setting {
        Setting { source, numerator, denominator, hz }
    }

    #[test]
    fn settings_of_the_usual_crystals() {
        for (khz, multiplier, numerator, denominator) in [
            (13_500, 5, 54, 25),
            (14_318, 5, 7159, 3125),
            (25_000, 3, 12, 5),
            (27_000, 3, 324, 125),
        ] {
            let expected = setting(times(multiplier), numerator, denominator, 31_250_000);
            for external_hz in [0, 100_000_000] {
                let found = Setting::for_rate(clocks(khz * 1000, external_hz), NANOSECONDS);
                assert_eq!(found, Ok(expected), "{khz}");
            }
        }
    }

    #[test]
    fn nearest_setting_if_none_is_exact() {
        // 14,318,180 Hz * 5 / 31,250,000 Hz is 715909 / 312500: 126 / 55 is the convergent before 143081 / 62456.
        let found = Setting::for_rate(crystal(14_318_180), NANOSECONDS);
        assert_eq!(found, Ok(setting(times(5), 126, 55, 31_249_996)));
    }

    #[test]
    fn settings_of_a_clock_of_the_chip() {
        for (hz, wanted, numerator, denominator) in [
            (200_000_000, NANOSECONDS, 32, 5),
            (NANOSECONDS, NANOSECONDS, 1, 1),
            (65_535, 1, 65_535, 1),
        ] {
            let found = Setting::for_rate(chip(hz), wanted);
            assert_eq!(found, Ok(setting(None, numerator, denominator, wanted)));
        }
    }

    #[test]
    fn rates_without_a_setting() {
        use RatioError::{InputTooFast, InputTooSlow};
        for (input, hz, error) in [
            (chip(31_249_999), 31_250_000, InputTooSlow),
            (chip(0), 0, InputTooSlow),
            (chip(0), 1, InputTooSlow),
            (chip(5), 0, InputTooSlow),
            (chip(65_536), 1, InputTooFast),
            (chip(u32::MAX), 1, InputTooFast),
            (crystal(0), 1, InputTooSlow),
            (crystal(27_000_000), 0, InputTooSlow),
            (crystal(1000), 256_001, InputTooSlow),
            (Input::NV41, 100_000_001, InputTooSlow),
            (Input::NV41, 12, InputTooFast),
            (crystal(u32::MAX), 1, InputTooFast),
        ] {
            assert_eq!(Setting::for_rate(input, hz), Err(error), "{input:?} {hz}");
        }
        let most = Setting::for_rate(crystal(1000), 256_000).unwrap();
        assert_eq!(most, setting(times(256), 1, 1, 256_000));
        assert!(Setting::for_rate(crystal(u32::MAX), u32::MAX).is_ok());
    }

    #[test]
    fn the_external_clock_only_where_the_crystal_is_too_slow() {
        // The crystal runs at 27 MHz. The columns are external clocks and rates. 81 MHz is three times the crystal.
        for (external_hz, hz, source, numerator, denominator) in [
            (100_000_000, 81_000_000, times(3), 1, 1),
            (100_000_000, 81_000_001, Some(InputClock::External), 100, 81),
            (100_000_000, 90_000_000, Some(InputClock::External), 10, 9),
            (100_000_000, 100_000_000, Some(InputClock::External), 1, 1),
            (108_000_000, 81_000_001, times(4), 4, 3),
            (50_000_000, 40_000_000, Some(InputClock::External), 5, 4),
            (0, 90_000_000, times(7), 21, 10),
        ] {
            let found = Setting::for_rate(clocks(27_000_000, external_hz), hz).unwrap();
            let expected = setting(source, numerator, denominator, found.hz);
            assert_eq!(found, expected, "{external_hz} {hz}");
        }
    }

    #[test]
    fn no_fraction_is_nearer() {
        let mut state = 1_u64;
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let b = (state >> 40) as u32 % 3000 + 1;
            let a = u64::from(b) + (state >> 20 & 0xff_ffff);
            let Some((numerator, denominator)) = nearest(a, b) else {
                assert!(a / u64::from(b) > 65_535);
                continue;
            };
            assert!(numerator >= denominator && denominator > 0);
            let distance = |n: u64, d: u64| (n * u64::from(b)).abs_diff(a * d);
            let found = distance(numerator.into(), denominator.into());
            for d in 1..=65_535 {
                for n in [a * d / u64::from(b), a * d / u64::from(b) + 1] {
                    let nearer = distance(n, d) * u64::from(denominator) < found * d;
                    assert!(n > 65_535 || !nearer, "{a}/{b}: {n}/{d}");
                }
            }
        }
    }
}
