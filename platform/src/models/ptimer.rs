//! A model of PTIMER. [`crate::ptimer`] documents the registers.

use super::answer;
use crate::AccessError;
use crate::ptimer::{COUNTER_BITS, EXTERNAL, Input, Register};

/// The mask of the counter's bits. The comparator compares only the low bits.
const COUNTER: u64 = (1 << COUNTER_BITS) - 1;
const LOW_BITS: u32 = 27;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// A PTIMER. After reset its ratio is 0, so the counter stands still, and ALARM_0 is all ones. Times, in nanoseconds, never go backwards.
///
/// - The comparator compares when the counter changes, and when software writes ALARM_0. It matches each time the counter reaches
///   ALARM_0, so it matches again after 2^27 counts.
/// - If the external clock's frequency is known, the multiplied crystal frequency is limited to it.
/// - The ratio is DENOMINATOR / NUMERATOR. A ratio above 1 (neither number is 0) hangs the device, as it hangs real devices: every
///   later access faults.
#[derive(Clone, Debug)]
pub struct PtimerEngine {
    input: Input,
    matched: bool,
    enabled: bool,
    numerator: u32,
    denominator: u32,
    clock_source: u32,
    alarm: u64,
    count: u64,
    /// The time at which the counter showed `count`, in nanoseconds.
    at: u64,
    /// The fraction of the next count that had passed at the time `at`, multiplied by [`Rate::per`].
    fraction: u128,
}

/// A rate of `counts` counts in `per` nanoseconds. Neither number is 0.
struct Rate {
    counts: u128,
    per: u128,
}

impl PtimerEngine {
    /// Returns a device after reset.
    pub const fn new(input: Input) -> Self {
        Self {
            input,
            matched: false,
            enabled: false,
            numerator: 0,
            denominator: 0,
            clock_source: 0,
            alarm: LOW,
            count: 0,
            at: 0,
            fraction: 0,
        }
    }

    /// Reads a register as it is at the time `now`, in nanoseconds.
    pub fn read(&mut self, register: Register, now: u64) -> Result<u32, AccessError> {
        self.check_fault(register)?;
        self.pass(now);
        Ok(match register {
            Register::Intr => self.matched.into(),
            Register::IntrEn => self.enabled.into(),
            Register::Numerator => self.numerator,
            Register::Denominator => self.denominator,
            Register::ClockSource => self.clock_source,
            Register::Time0 => ((self.count & LOW) << 5) as u32,
            Register::Time1 => (self.count >> LOW_BITS) as u32,
            Register::Alarm0 => (self.alarm << 5) as u32,
        })
    }

    /// Writes a register. Before the write, advances the counter to `now`, and latches matches up to `now`.
    pub fn write(&mut self, register: Register, value: u32, now: u64) -> Result<(), AccessError> {
        self.check_fault(register)?;
        self.pass(now);
        let value = value & register.mask();
        match register {
            Register::Intr => self.matched &= value == 0,
            Register::IntrEn => self.enabled = value != 0,
            Register::Numerator => self.set_rate(|engine| engine.numerator = value),
            Register::Denominator => self.set_rate(|engine| engine.denominator = value),
            Register::ClockSource => self.set_rate(|engine| engine.clock_source = value),
            Register::Time0 => self.count = self.count & !LOW | u64::from(value >> 5),
            Register::Time1 => self.count = self.count & LOW | u64::from(value) << LOW_BITS,
            Register::Alarm0 => self.alarm = u64::from(value >> 5),
        }
        if let Register::Time0 | Register::Alarm0 = register {
            self.matched |= self.count & LOW == self.alarm;
        }
        Ok(())
    }

    /// Returns the time, not before `now`, at which the device next asserts its interrupt, in nanoseconds; `None` if it asserts no
    /// interrupt until another access.
    pub fn next_interrupt(&mut self, now: u64) -> Option<u64> {
        match (self.interrupts(now), self.enabled) {
            (true, _) => Some(now),
            (false, true) => self.next_match(),
            (false, false) => None,
        }
    }

    /// Advances the counter in one step, as if `nanoseconds` had passed, or sets it back if `nanoseconds` is negative. The comparator
    /// compares only the final value. A counter that stands still does not change.
    pub fn jump(&mut self, nanoseconds: i64, now: u64) {
        self.pass(now);
        if let Some(Rate { counts, per }) = self.rate() {
            let (sum, per) =
                (i128::from(nanoseconds) * counts as i128 + self.fraction as i128, per as i128);
            self.fraction = sum.rem_euclid(per) as u128;
            self.count = (i128::from(self.count) + sum.div_euclid(per)) as u64 & COUNTER;
            self.matched |= self.count & LOW == self.alarm;
        }
    }

    /// Returns `true` if the device asserts its interrupt at the time `now`, in nanoseconds.
    pub fn interrupts(&mut self, now: u64) -> bool {
        self.pass(now);
        self.matched && self.enabled
    }

    /// Returns the first nanosecond at which TIME_0 becomes equal to ALARM_0; `None` if the counter stands still.
    pub fn next_match(&self) -> Option<u64> {
        let Rate { counts, per } = self.rate()?;
        let after = (u128::from(self.counts_to_match()) * per - self.fraction).div_ceil(counts);
        self.at.checked_add(u64::try_from(after).ok()?)
    }

    fn counts_to_match(&self) -> u64 {
        match self.alarm.wrapping_sub(self.count) & LOW {
            0 => LOW + 1,
            counts => counts,
        }
    }

    fn pass(&mut self, now: u64) {
        let Some(passed) = now.checked_sub(self.at) else {
            return;
        };
        self.at = now;
        if let Some(Rate { counts, per }) = self.rate() {
            let sum = u128::from(passed) * counts + self.fraction;
            let more = sum / per;
            self.fraction = sum % per;
            self.matched |= more >= u128::from(self.counts_to_match());
            self.count = (u128::from(self.count) + more) as u64 & COUNTER;
        }
    }

    fn set_rate(&mut self, set: impl FnOnce(&mut Self)) {
        set(self);
        self.fraction = 0;
    }

    fn rate(&self) -> Option<Rate> {
        let source = self.clock_source;
        // The rate of the input is `dividend / divider`.
        let [dividend, divider] = match self.input {
            Input::Nv03 { memory_hz: hz } | Input::Nv04 { core_hz: hz } => [hz.into(), 1],
            Input::Nv41 { external_hz, .. } if source & EXTERNAL != 0 => [external_hz.into(), 1],
            Input::Nv41 { crystal_hz, external_hz } => {
                let [multiplier, divider] = [source & 0xff, source >> 8].map(|n| u128::from(n) + 1);
                let dividend = match u128::from(external_hz) * divider {
                    0 => u128::MAX,
                    most => most,
                };
                [dividend.min(u128::from(crystal_hz) * multiplier), divider]
            }
        };
        let counts = dividend * u128::from(self.denominator);
        let per = 1_000_000_000 * divider * u128::from(self.numerator);
        (counts != 0 && per != 0).then_some(Rate { counts, per })
    }

    fn check_fault(&self, register: Register) -> Result<(), AccessError> {
        let hung = self.numerator != 0 && self.denominator > self.numerator;
        let absent = !matches!(self.input, Input::Nv41 { .. }) && register == Register::ClockSource;
        answer(!hung && !absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Register::{Alarm0, ClockSource, Denominator, Intr, IntrEn, Numerator, Time0, Time1};

    const SECOND: u64 = 1_000_000_000;

    /// Returns a device that counts every 32 ns, from 0.
    fn counting() -> PtimerEngine {
        let core_hz = 31_250_000;
        let mut engine = PtimerEngine::new(Input::Nv04 { core_hz });
        set(&mut engine, &[(Numerator, 1), (Denominator, 1)], 0);
        engine
    }

    fn set(engine: &mut PtimerEngine, writes: &[(Register, u32)], now: u64) {
        for &(register, value) in writes {
            engine.write(register, value, now).unwrap();
        }
    }

    fn pair(engine: &mut PtimerEngine, now: u64) -> (u32, u32) {
        [Time1, Time0].map(|register| engine.read(register, now).unwrap()).into()
    }

    #[test]
    fn registers_keep_their_bits() {
        for (register, before, kept) in [
            (IntrEn, 0, 0x0000_0001),
            (Numerator, 0, 0x0000_ffff),
            (Denominator, 0, 0x0000_ffff),
            (ClockSource, 0, 0x0001_1fff),
            (Time0, 0, 0xffff_ffe0),
            (Time1, 0, 0x1fff_ffff),
            (Alarm0, 0xffff_ffe0, 0xffff_ffe0),
        ] {
            let mut engine = PtimerEngine::new(Input::NV41);
            assert_eq!(engine.read(register, 0), Ok(before), "{register:?}");
            engine.write(register, u32::MAX, 0).unwrap();
            assert_eq!(engine.read(register, 0), Ok(kept), "{register:?}");
            engine.write(register, 0, 0).unwrap();
            assert_eq!(engine.read(register, 0), Ok(0), "{register:?}");
        }
    }

    #[test]
    fn the_chips_clock_times_the_ratio() {
        // The values of an Xbox: a PLL of 233,333,324 Hz * DENOMINATOR 7629 / NUMERATOR 56966 = 31,248,462.746 Hz.
        let hz = 233_333_324;
        for input in [Input::Nv03 { memory_hz: hz }, Input::Nv04 { core_hz: hz }] {
            let mut engine = PtimerEngine::new(input);
            let ratio = [(Numerator, 0xde86), (Denominator, 0x1dcd)];
            set(&mut engine, &ratio, 0);
            assert_eq!(pair(&mut engine, SECOND), (0, 0x3b9a_09c0));
            assert_eq!(pair(&mut engine, 1000 * SECOND), (0xe8, 0xd1b6_7340));
            assert_eq!(engine.read(ClockSource, 0), Err(AccessError::Fault));
            assert_eq!(engine.write(ClockSource, 0, 0), Err(AccessError::Fault));
        }
    }

    #[test]
    fn the_crystal_times_its_factors_times_the_ratio() {
        // nvidia_ptimer: 27 MHz "can be divided or increased"; bit 16 sets the "maximum value", 100 MHz (NVC0: 108 MHz).
        let unknown = Input::Nv41 { crystal_hz: 27_000_000, external_hz: 0 };
        // CLOCK_SOURCE, NUMERATOR, DENOMINATOR, and the number of counts in a second.
        for (input, source, numerator, denominator, counts) in [
            (Input::NV41, 0, 1, 1, 27_000_000),
            (Input::NV41, 2, 324, 125, 31_250_000),
            (Input::NV41, 3, 1, 1, 100_000_000),
            (Input::NV41, 0xff, 2, 1, 50_000_000),
            (Input::NV41, 3 << 8 | 0xf, 1, 1, 100_000_000),
            (Input::NV41, 3 << 8 | 0xd, 1, 1, 94_500_000),
            (Input::NVC0, 3, 1, 1, 108_000_000),
            (Input::NVC0, 4, 1, 1, 108_000_000),
            (unknown, 0xff, 2, 1, 3_456_000_000),
            (Input::NV41, 1 << 8, 1, 1, 13_500_000),
            (Input::NV41, 0x1f << 8 | 7, 1, 1, 6_750_000),
            (Input::NV41, 1 << 16, 1, 1, 100_000_000),
            (Input::NV41, 1 << 16 | 0x1fff, 4, 1, 25_000_000),
            (Input::NVC0, 1 << 16 | 0x1fff, 4, 1, 27_000_000),
            (unknown, 1 << 16, 1, 1, 0),
        ] {
            let mut engine = PtimerEngine::new(input);
            let ratio = [(Numerator, numerator), (Denominator, denominator)];
            set(&mut engine, &[(ClockSource, source)], 0);
            set(&mut engine, &ratio, 0);
            let (high, low) = pair(&mut engine, SECOND);
            let time = u64::from(high) << 32 | u64::from(low);
            assert_eq!(time, 32 * counts, "{source:#x} {ratio:?}");
        }
    }

    #[test]
    fn a_ratio_of_zero_stops_it() {
        let mut engine = counting();
        set(&mut engine, &[(Denominator, 0)], 320);
        assert_eq!(pair(&mut engine, SECOND), (0, 320));
        assert_eq!(engine.next_match(), None);
        set(&mut engine, &[(Denominator, 1)], SECOND);
        assert_eq!(pair(&mut engine, SECOND + 64), (0, 384));
        set(&mut engine, &[(Numerator, 0)], SECOND + 64);
        assert_eq!(pair(&mut engine, 2 * SECOND), (0, 384));
        assert_eq!(engine.next_match(), None);
    }

    #[test]
    fn a_ratio_above_one_hangs_it() {
        let mut engine = counting();
        set(&mut engine, &[(Denominator, 2)], 0);
        for register in [Intr, Time0, Denominator] {
            assert_eq!(engine.read(register, 0), Err(AccessError::Fault));
            assert_eq!(engine.write(register, 0, 0), Err(AccessError::Fault));
        }
    }

    #[test]
    fn the_counter_has_56_bits() {
        let mut engine = counting();
        set(&mut engine, &[(Time1, u32::MAX), (Time0, u32::MAX)], 0);
        assert_eq!(pair(&mut engine, 31), (0x1fff_ffff, 0xffff_ffe0));
        assert_eq!(pair(&mut engine, 32), (0, 0));
        set(&mut engine, &[(Time0, u32::MAX)], 32);
        assert_eq!(pair(&mut engine, 64), (1, 0), "a carry into TIME_1");
    }

    #[test]
    fn a_write_changes_its_half() {
        let mut engine = counting();
        set(&mut engine, &[(Time1, 0x1234_5678)], 320);
        assert_eq!(pair(&mut engine, 320), (0x1234_5678, 320));
        set(&mut engine, &[(Time0, 0x8000_001f)], 640);
        assert_eq!(pair(&mut engine, 640), (0x1234_5678, 0x8000_0000));
        assert_eq!(pair(&mut engine, 672), (0x1234_5678, 0x8000_0020));
    }

    #[test]
    fn a_match_stays_until_it_is_cleared_and_comes_once_a_wrap() {
        const WRAP: u64 = 1 << 32;
        let mut engine = counting();
        set(&mut engine, &[(Alarm0, 640)], 0);
        assert_eq!(engine.next_match(), Some(640));
        assert_eq!(engine.read(Intr, 639), Ok(0));
        assert_eq!(engine.read(Intr, 640), Ok(1), "masked or not");
        assert!(!engine.interrupts(640));
        set(&mut engine, &[(IntrEn, 1)], 640);
        assert!(engine.interrupts(640));
        set(&mut engine, &[(Intr, 0xffff_fffe)], 650);
        assert!(engine.interrupts(650), "only a 1 in bit 0 clears it");
        set(&mut engine, &[(Intr, 1)], 650);
        assert!(!engine.interrupts(WRAP + 639));
        assert_eq!(engine.next_match(), Some(WRAP + 640));
        assert!(engine.interrupts(WRAP + 640), "armed for the next wrap");
        set(&mut engine, &[(Intr, 1)], WRAP + 640);
        assert!(engine.interrupts(9 * WRAP), "latched without an access");
    }

    #[test]
    fn the_reset_value_of_the_alarm_matches_too() {
        let mut engine = counting();
        set(&mut engine, &[(Time0, 0xffff_ffc0)], 0);
        assert_eq!(engine.read(Intr, 31), Ok(0));
        assert_eq!(engine.read(Intr, 32), Ok(1));
    }

    #[test]
    fn the_next_interrupt_needs_both_bits() {
        let mut engine = counting();
        set(&mut engine, &[(Alarm0, 640)], 0);
        assert_eq!(engine.next_interrupt(10), None, "it is not enabled");
        set(&mut engine, &[(IntrEn, 1)], 20);
        assert_eq!(engine.next_interrupt(30), Some(640));
        assert_eq!(engine.next_interrupt(700), Some(700));
        set(&mut engine, &[(IntrEn, 0)], 710);
        assert_eq!(engine.next_interrupt(720), None);
    }

    #[test]
    fn a_jump_matches_only_where_it_ends() {
        let mut engine = counting();
        set(&mut engine, &[(Alarm0, 640)], 0);
        engine.jump(6400, 16);
        assert_eq!(pair(&mut engine, 31), (0, 6400), "the fraction of a count stays");
        assert_eq!(pair(&mut engine, 32), (0, 6432));
        engine.jump(-6400, 32);
        assert_eq!((pair(&mut engine, 32), engine.read(Intr, 32)), ((0, 32), Ok(0)));
        engine.jump(-64, 32);
        assert_eq!(pair(&mut engine, 32), (0x1fff_ffff, 0xffff_ffe0), "it wraps");
        engine.jump(640 + 32, 32);
        assert_eq!(engine.read(Intr, 32), Ok(1));
        set(&mut engine, &[(Denominator, 0)], 32);
        engine.jump(6400, 32);
        assert_eq!(pair(&mut engine, 32), (0, 640), "it stands still");
    }

    #[test]
    fn an_alarm_already_passed_waits_for_the_next_wrap() {
        let mut engine = counting();
        set(&mut engine, &[(Alarm0, 320)], 352);
        assert_eq!(engine.read(Intr, 352), Ok(0));
        assert_eq!(engine.next_match(), Some((1 << 32) + 320));
    }

    #[test]
    fn a_write_that_makes_time_and_alarm_equal_matches() {
        let mut engine = counting();
        set(&mut engine, &[(Alarm0, 320)], 330);
        assert_eq!(engine.read(Intr, 330), Ok(1));
        let equal = [(Intr, 1), (Alarm0, 6400), (Time0, 6400)];
        set(&mut engine, &equal, 330);
        assert_eq!(engine.read(Intr, 330), Ok(1));
    }

    #[test]
    fn a_match_before_a_write_is_latched() {
        for (register, value) in [
            (IntrEn, 1),
            (Numerator, 2),
            (Denominator, 0),
            (Time0, 0),
            (Time1, 0),
            (Alarm0, 64_000),
        ] {
            let mut engine = counting();
            set(&mut engine, &[(Alarm0, 640)], 0);
            set(&mut engine, &[(register, value)], 1000);
            assert_eq!(engine.read(Intr, 1000), Ok(1), "{register:?}");
        }
        let mut engine = counting();
        set(&mut engine, &[(Alarm0, 640)], 0);
        set(&mut engine, &[(Intr, 1)], 1000);
        assert_eq!(engine.read(Intr, 1000), Ok(0), "the write clears the match");
    }

    #[test]
    fn the_next_match_is_rounded_up() {
        // Three counts take 20 ns, so count n happens at 20 * n / 3.
        let core_hz = 300_000_000;
        let mut engine = PtimerEngine::new(Input::Nv04 { core_hz });
        set(&mut engine, &[(Numerator, 2), (Denominator, 1)], 0);
        engine.write(Intr, 1, 0).unwrap();
        for (counts, nanoseconds) in [(1, 7), (2, 14), (3, 20), (4, 27)] {
            set(&mut engine, &[(Alarm0, counts << 5), (Intr, 1)], 0);
            assert_eq!(engine.next_match(), Some(nanoseconds));
            let mut later = engine.clone();
            assert_eq!(later.read(Intr, nanoseconds - 1), Ok(0));
            assert_eq!(later.read(Intr, nanoseconds), Ok(1));
            assert_eq!(later.read(Time0, nanoseconds), Ok(counts << 5));
        }
    }
}
