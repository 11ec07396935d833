//! The counter: started, read and set.

use core::fmt;

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

use super::{Access, COUNTER_BITS, Input, RatioError, Register, STEP, Setting};
use crate::AccessError;

/// How often the halves of the time are read at most until they belong together. TIME_1 changes once in 2^27 counts: the
/// second try succeeds, unless someone sets the time meanwhile.
const READS: u32 = 8;

/// How many equal reads show that the counter stands still.
const STALLED: u32 = 16;

/// What a [`ClockSource`] that is this device is rated: below a register of the processor, which is read faster.
const RATING: u16 = 200;

const COUNTER: Width = match Width::new(COUNTER_BITS as u8) {
    Some(width) => width,
    None => panic!("a width"),
};

/// What cannot be done with the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtimerError {
    /// A register cannot be reached.
    Access(AccessError),
    /// There is no setting for the rate.
    Ratio(RatioError),
    /// The halves of the time did not belong together, however often they were read.
    Torn,
    /// The time has more than 61 bits.
    OutOfRange,
}

impl fmt::Display for PtimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(error) => error.fmt(f),
            Self::Ratio(error) => error.fmt(f),
            Self::Torn => f.write_str("the two halves of the time do not belong together"),
            Self::OutOfRange => f.write_str("a time has 61 bits"),
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

/// A timer that counts.
#[derive(Debug)]
pub struct Ptimer<A> {
    pub(super) access: A,
    pub(super) hz: u32,
}

impl<A: Access> Ptimer<A> {
    /// Makes the timer count so many times a second, or as near as it can. The time goes on from what it is.
    ///
    /// # Errors
    /// There is no setting for the rate, or a register cannot be reached.
    pub fn start(access: A, input: Input, hz: u32) -> Result<Self, PtimerError> {
        let setting = Setting::for_rate(input, hz)?;
        // Stopped meanwhile: a ratio above 1, even between two writes, hangs the device.
        access.write(Register::Denominator, 0)?;
        for register in [
            Register::ClockSource,
            Register::Numerator,
            Register::Denominator,
        ] {
            if let Some(value) = setting.value(register) {
                access.write(register, value)?;
            }
        }
        Ok(Self {
            access,
            hz: setting.hz(),
        })
    }

    /// The rate in Hz, rounded.
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// The time: a multiple of [`STEP`], below 2^61.
    ///
    /// TIME_0 may carry into TIME_1 between the reads of the two. So TIME_1 is read again, until it is the same before
    /// TIME_0 and after.
    ///
    /// # Errors
    /// A register cannot be reached, or [`PtimerError::Torn`].
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

    /// Sets the time. What is below [`STEP`] is dropped.
    ///
    /// TIME_0 is 0 while TIME_1 is written, so that it does not carry: 2^27 counts must not pass until it is set in its turn.
    ///
    /// # Errors
    /// The time has more than 61 bits, or a register cannot be reached.
    pub fn set_time(&mut self, time: u64) -> Result<(), PtimerError> {
        let (high, low) = ((time >> 32) as u32, time as u32);
        if high & !Register::Time1.mask() != 0 {
            return Err(PtimerError::OutOfRange);
        }
        self.access.write(Register::Time0, 0)?;
        self.access.write(Register::Time1, high)?;
        self.access
            .write(Register::Time0, low & Register::Time0.mask())?;
        Ok(())
    }

    /// Whether the counter stands still: it shows the same in 16 reads.
    ///
    /// # Errors
    /// A register cannot be reached.
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

/// The counter, of 56 bits: the time without its low 5 bits.
impl<A: Access> ClockSource for Ptimer<A> {
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
