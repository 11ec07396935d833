//! Starts, reads and sets a timer's counter.

use core::fmt;

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

use super::{COUNTER_BITS, Input, PtimerRegisters, RatioError, Register, STEP, Setting};
use crate::AccessError;

/// The maximum number of tries to read both halves of a time. The second try succeeds unless a writer sets the time.
const READS: u32 = 8;
/// The number of equal reads that show that the counter stands still.
const STALLED: u32 = 16;
/// The rating of this device as a [`ClockSource`]: below the rating of a processor's register, which is faster to read.
const RATING: u16 = 200;

const COUNTER: Width = match Width::new(COUNTER_BITS as u8) {
    Some(width) => width,
    None => panic!("a width"),
};

/// Why the timer could not be read or programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PtimerError {
    /// A register of the timer could not be read or written.
    Access(AccessError),
    /// No setting exists for the rate.
    Ratio(RatioError),
    /// In every attempt to read the time, TIME_1 changed between its two reads.
    Torn,
    /// The time to set has more than 61 bits.
    OutOfRange,
}

impl fmt::Display for PtimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(error) => error.fmt(f),
            Self::Ratio(error) => error.fmt(f),
            Self::Torn => f.write_str("the upper half of the time changed with every read"),
            Self::OutOfRange => f.write_str("the time has more than 61 bits"),
        }
    }
}

impl core::error::Error for PtimerError {}

impl From<AccessError> for PtimerError {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

impl From<RatioError> for PtimerError {
    fn from(error: RatioError) -> Self {
        Self::Ratio(error)
    }
}

/// The driver of a started timer.
#[derive(Debug)]
pub struct Ptimer<A> {
    pub(super) access: A,
    pub(super) hz: u32,
}

impl<A: PtimerRegisters> Ptimer<A> {
    /// Starts the counter at a rate in Hz, or at the nearest possible rate. Does not change the time. Fails if no setting exists
    /// for the rate. Like all functions of this type, fails if an access to a register fails.
    pub fn start(access: A, input: Input, hz: u32) -> Result<Self, PtimerError> {
        let setting = Setting::for_rate(input, hz)?;
        // A ratio above 1 hangs the device, even if it lasts only a moment, so stop the counter before the two writes.
        access.write(Register::Denominator, 0)?;
        for register in [Register::ClockSource, Register::Numerator, Register::Denominator] {
            if let Some(value) = setting.value(register) {
                access.write(register, value)?;
            }
        }
        Ok(Self { access, hz: setting.hz() })
    }

    /// Returns the rate of the counter, rounded to Hz.
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Returns the time: a multiple of [`STEP`] below 2^61.
    ///
    /// TIME_0 may carry into TIME_1 between two reads, so the function reads TIME_1 before and after TIME_0. Fails with `Torn` if the two
    /// values of TIME_1 are never equal.
    pub fn time(&self) -> Result<u64, PtimerError> {
        let mut high = self.read(Register::Time1)?;
        for _ in 0..READS {
            let low = self.read(Register::Time0)?;
            let after = self.read(Register::Time1)?;
            if after == high {
                return Ok(u64::from(high) << 32 | u64::from(low));
            }
            high = after;
        }
        Err(PtimerError::Torn)
    }

    /// Sets the time, rounded down to a multiple of [`STEP`]. Fails if the time has more than 61 bits.
    ///
    /// Sets TIME_0 to 0 first, so that TIME_0 does not carry into TIME_1 until both registers are written.
    pub fn set_time(&mut self, time: u64) -> Result<(), PtimerError> {
        let (high, low) = ((time >> 32) as u32, time as u32);
        if high & !Register::Time1.mask() != 0 {
            return Err(PtimerError::OutOfRange);
        }
        self.access.write(Register::Time0, 0)?;
        self.access.write(Register::Time1, high)?;
        self.access.write(Register::Time0, low & Register::Time0.mask())?;
        Ok(())
    }

    /// Returns `true` if the counter stands still: 16 reads return the same value.
    pub fn is_stalled(&self) -> Result<bool, PtimerError> {
        let first = self.read(Register::Time0)?;
        for _ in 1..STALLED {
            if self.read(Register::Time0)? != first {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read(&self, register: Register) -> Result<u32, AccessError> {
        Ok(self.access.read(register)? & register.mask())
    }
}

/// As a clock source, the timer shows the 56 bits of its counter, which is the time divided by [`STEP`].
impl<A: PtimerRegisters> ClockSource for Ptimer<A> {
    fn describe(&self) -> Description {
        Description {
            name: "PTIMER",
            width: COUNTER,
            hz: self.hz.into(),
            step: 1,
            rating: RATING,
            scope: Scope::Machine,
            hazards: Hazards::default(),
        }
    }

    fn read(&self, _: StrandId) -> Option<u64> {
        Some(self.time().ok()? / STEP)
    }
}
