//! PTIMER, the time source of NVIDIA graphics processors: a counter of 56 bits whose rate is set by a ratio, and a
//! comparator.
//!
//! The counter is seen through two registers of 32 bits: bits 26:0 are bits 31:5 of TIME_0, and bits 55:27 are bits 28:0 of
//! TIME_1. "Time" means the 64 bits of both registers here: it goes on by [`STEP`] with each count, and counts nanoseconds
//! at [`NANOSECONDS`].
//!
//! - [`Setting`]: the ratio for a wanted rate.
//! - [`Ptimer`]: reads and sets the time.
//! - [`Alarms`]: any number of deadlines of 64 bits on the one comparator of 27.
//!
//! The driver reaches the device through [`Access`]. It is no [`Bus`](crate::Bus): the registers have 32 bits, and the
//! address of the block is its owner's affair.

mod alarms;
mod ratio;
#[cfg(all(test, feature = "models"))]
mod tests;
mod timer;

pub use alarms::{Alarms, ScheduleError, When};
pub use ratio::{RatioError, Setting};
pub use timer::{Ptimer, PtimerError};

use crate::AccessError;

/// By how much the time goes on with a count.
pub const STEP: u64 = 1 << 5;

/// How many bits the counter has.
pub const COUNTER_BITS: u32 = 56;

/// The rate of the counter, in Hz, at which the time counts nanoseconds.
pub const NANOSECONDS: u32 = 1_000_000_000 / STEP as u32;

/// The registers, of 32 bits, of NV3 and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// Bit 0: the comparator has matched. Stays until it is written as 1.
    #[doc(alias = "PTIMER.INTR")]
    Intr,
    /// Bit 0: INTR drives the interrupt line.
    #[doc(alias = "PTIMER.INTR_EN")]
    IntrEn,
    /// What the rate is divided by.
    #[doc(alias = "PTIMER.NUMERATOR")]
    Numerator,
    /// What the rate is multiplied by: at most NUMERATOR. 0 stops the counter.
    #[doc(alias = "PTIMER.DENOMINATOR")]
    Denominator,
    /// What is divided (NV41 and later): bit 16 for the external clock; else the crystal, times bits 7:0 plus 1, by bits 12:8
    /// plus 1.
    #[doc(alias = "PTIMER.CLOCK_SOURCE")]
    ClockSource,
    /// Bits 26:0 of the counter.
    #[doc(alias = "PTIMER.TIME_0")]
    Time0,
    /// Bits 55:27 of the counter.
    #[doc(alias = "PTIMER.TIME_1")]
    Time1,
    /// Matches when TIME_0 comes to show the same.
    #[doc(alias = "PTIMER.ALARM_0")]
    Alarm0,
}

impl Register {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Intr,
        Self::IntrEn,
        Self::Numerator,
        Self::Denominator,
        Self::ClockSource,
        Self::Time0,
        Self::Time1,
        Self::Alarm0,
    ];

    /// Where it is in the register space of the processor (BAR 0), in bytes.
    pub const fn offset(self) -> u32 {
        match self {
            Self::Intr => 0x9100,
            Self::IntrEn => 0x9140,
            Self::Numerator => 0x9200,
            Self::Denominator => 0x9210,
            Self::ClockSource => 0x9220,
            Self::Time0 => 0x9400,
            Self::Time1 => 0x9410,
            Self::Alarm0 => 0x9420,
        }
    }

    /// The bits that it has. The others read 0, and what is written to them is lost.
    pub const fn mask(self) -> u32 {
        match self {
            Self::Intr | Self::IntrEn => 1,
            Self::Numerator | Self::Denominator => 0xffff,
            Self::ClockSource => 0x0001_1fff,
            Self::Time0 | Self::Alarm0 => 0xffff_ffe0,
            Self::Time1 => 0x1fff_ffff,
        }
    }
}

/// What drives the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// NV3 to NV40: a clock of the chip (of its memory, its core or its host interface), and no register CLOCK_SOURCE.
    Chip {
        /// The clock's rate in Hz.
        hz: u32,
    },
    /// NV41 and later: a crystal, 27 MHz on many boards but not on all, or an external clock.
    Crystal {
        /// The crystal's rate in Hz.
        hz: u32,
        /// The external clock's: that of the host interface, since G84 a clock of its own.
        external_hz: u32,
    },
}

/// How the registers are reached.
pub trait Access {
    /// Reads a register.
    fn read(&self, register: Register) -> Result<u32, AccessError>;

    /// Writes a register.
    fn write(&self, register: Register, value: u32) -> Result<(), AccessError>;
}

impl<A: Access + ?Sized> Access for &A {
    fn read(&self, register: Register) -> Result<u32, AccessError> {
        (**self).read(register)
    }

    fn write(&self, register: Register, value: u32) -> Result<(), AccessError> {
        (**self).write(register, value)
    }
}
