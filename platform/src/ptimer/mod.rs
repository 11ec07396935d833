//! A driver for PTIMER, the time source of NVIDIA graphics processors: a comparator and a 56-bit counter. A ratio sets the counter's rate.
//!
//! Software sees the counter in two 32-bit registers. Bits 26:0 of the counter are bits 31:5 of TIME_0; bits 55:27 are bits 28:0 of TIME_1.
//! A *time* is the 64 bits of both registers. Each count advances the time by [`STEP`]. At rate [`NANOSECONDS`], the time is in ns.
//!
//! - [`Setting`]: the ratio for a wanted rate.
//! - [`Ptimer`]: reads and sets the time.
//! - [`Alarms`]: several 64-bit deadlines on the single 27-bit comparator.
//!
//! # Where descriptions of the device differ
//! Later sources contradict the oldest description (nvidia_ptimer) in these points. This module follows the later sources:
//! - ALARM_0 is at 0x9420. (The oldest description says 0x9410, which belongs to TIME_1.)
//! - Not all 64 bits of TIME_1 and TIME_0 belong to the counter: bits 4:0 and 63:61 read 0.
//! - DENOMINATOR may be equal to NUMERATOR. The device hangs only if DENOMINATOR is above NUMERATOR.
//! - In CLOCK_SOURCE, the field named DENOMINATOR multiplies, and NUMERATOR divides. The oldest description's formula agrees.
//! - Bit 16 of CLOCK_SOURCE, the "maximum", selects another clock.
//! - NV40 itself has no CLOCK_SOURCE and no crystal: it works like the families before it.
//!
//! The driver does not use [`Bus`](crate::Bus), because the registers have 32 bits. An implementation of [`PtimerRegisters`] knows
//! the addresses of the registers.

mod alarms;
mod ratio;
#[cfg(all(test, feature = "models"))]
mod tests;
mod timer;

pub use alarms::{Alarms, Due, ScheduleError};
pub use ratio::{RatioError, Setting};
pub use timer::{Ptimer, PtimerError};

use crate::AccessError;

/// The amount by which the time advances with each count: bit 5 of TIME_0 is the lowest bit of the counter.
pub const STEP: u64 = 1 << 5;
/// The width of the counter in bits: 27 in TIME_0 and 29 in TIME_1.
pub const COUNTER_BITS: u32 = 56;
/// The counter rate, in Hz, at which a time is in nanoseconds.
pub const NANOSECONDS: u32 = 1_000_000_000 / STEP as u32;
/// The bit of CLOCK_SOURCE that selects the external clock, which is the fastest clock.
#[doc(alias = "MAX_FREQUENCY")]
pub(crate) const EXTERNAL: u32 = 1 << 16;

/// The registers of NV3 and later. Each has 32 bits. The values are byte offsets in the graphics processor's register space (BAR 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// Bit 0: the comparator has matched. Stays set until software writes 1 to it.
    #[doc(alias = "PTIMER.INTR")]
    Intr = 0x9100,
    /// Bit 0: enables the interrupt line. INTR drives the line.
    #[doc(alias = "PTIMER.INTR_EN")]
    IntrEn = 0x9140,
    /// Divides the rate of the input clock.
    #[doc(alias = "PTIMER.NUMERATOR")]
    Numerator = 0x9200,
    /// Multiplies the rate of the input clock. At most NUMERATOR; 0 stops the counter.
    #[doc(alias = "PTIMER.DENOMINATOR")]
    Denominator = 0x9210,
    /// The input clock (NV41 and later): the external clock if bit 16 is set, else the crystal times (bits 7:0 + 1) / (bits 12:8 + 1).
    #[doc(alias = "PTIMER.CLOCK_SOURCE")]
    ClockSource = 0x9220,
    /// Bits 26:0 of the counter.
    #[doc(alias = "PTIMER.TIME_0")]
    Time0 = 0x9400,
    /// Bits 55:27 of the counter.
    #[doc(alias = "PTIMER.TIME_1")]
    Time1 = 0x9410,
    /// The comparator matches when TIME_0 becomes equal to this register.
    #[doc(alias = "PTIMER.ALARM_0")]
    Alarm0 = 0x9420,
}

impl Register {
    /// All registers, lowest offset first.
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

    /// Returns the register's offset in bytes.
    pub const fn offset(self) -> u32 {
        self as u32
    }

    /// Returns the bits that the register implements. Other bits read as 0, and writes to them have no effect.
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

/// The clock that drives the counter. Which clock this is depends on the chip family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// NV03: the memory PLL (MPLL). The chip has no CLOCK_SOURCE register.
    Nv03 {
        /// The PLL's rate in Hz, which depends on the board.
        memory_hz: u32,
    },
    /// NV04 to NV40: the core PLL, or on NV40 the host interface clock. The chip has no CLOCK_SOURCE register.
    Nv04 {
        /// This clock's rate in Hz, which depends on the board.
        core_hz: u32,
    },
    /// NV41 and later: a multiplied and divided crystal, or an external clock, which is faster. [`NV41`](Self::NV41) has the usual rates.
    Nv41 {
        /// The rate of the crystal in Hz, before it is multiplied and divided.
        crystal_hz: u32,
        /// The rate of the external clock in Hz, the limit of the multiplied crystal; 0 if it is unknown.
        external_hz: u32,
    },
}

impl Input {
    /// NV41 and later, before NVC0: a 27 MHz crystal and a 100 MHz external clock. Some boards have other crystals.
    pub const NV41: Self = Self::usual(100_000_000);
    /// NVC0 and later: a 27 MHz crystal and a 108 MHz external clock. Some boards have other crystals.
    pub const NVC0: Self = Self::usual(108_000_000);

    const fn usual(external_hz: u32) -> Self {
        Self::Nv41 { crystal_hz: 27_000_000, external_hz }
    }
}

/// Access to the registers of a device.
pub trait PtimerRegisters {
    /// Reads a register with a 32-bit access. Fails if the device does not answer.
    fn read(&self, register: Register) -> Result<u32, AccessError>;

    /// Writes a register with a 32-bit access. Fails if the device does not answer.
    fn write(&self, register: Register, value: u32) -> Result<(), AccessError>;
}

impl<A: PtimerRegisters + ?Sized> PtimerRegisters for &A {
    fn read(&self, register: Register) -> Result<u32, AccessError> {
        (**self).read(register)
    }

    fn write(&self, register: Register, value: u32) -> Result<(), AccessError> {
        (**self).write(register, value)
    }
}
