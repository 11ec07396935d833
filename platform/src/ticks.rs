//! %tick and %stick, the counters of a strand (UltraSPARC Architecture 2007).
//!
//! Both have 63 bits; bit 63 is NPT. Each strand has its own, which the hypervisor sets when the strand starts: nothing makes
//! those of two strands equal unless it does.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

/// The counters of the strand that executes the call. Only ever asked for that strand.
pub trait TickRegisters {
    /// Reads %tick (ASR 4), NPT included.
    fn tick(&self, strand: StrandId) -> u64;

    /// Reads %stick (ASR 24), NPT included.
    fn stick(&self, strand: StrandId) -> u64;
}

impl<T: TickRegisters + ?Sized> TickRegisters for &T {
    #[inline]
    fn tick(&self, strand: StrandId) -> u64 {
        (**self).tick(strand)
    }

    #[inline]
    fn stick(&self, strand: StrandId) -> u64 {
        (**self).stick(strand)
    }
}

/// Whether the hypervisor has made a counter the same on all strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// It has, when it started them.
    Aligned,
    /// It has not, or it does not know.
    Unknown,
}

impl Alignment {
    const fn scope(self) -> Scope {
        match self {
            Self::Aligned => Scope::Strand,
            Self::Unknown => Scope::StrandUnsynchronised,
        }
    }
}

/// %tick as a source of time: the cycles of the processor. They come less often when power management slows it.
#[derive(Clone, Copy, Debug)]
pub struct Tick<T> {
    registers: T,
    hz: u64,
    alignment: Alignment,
}

/// %stick as a source of time: the system's, at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct Stick<T> {
    registers: T,
    hz: u64,
    alignment: Alignment,
}

impl<T> Tick<T> {
    /// The counter with this rate in Hz: `clock-frequency` of the strand in the machine description; 0 if that is unknown.
    pub const fn new(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self {
            registers,
            hz,
            alignment,
        }
    }
}

impl<T> Stick<T> {
    /// The counter with this rate in Hz: `stick-frequency` of the platform in the machine description; 0 if that is unknown.
    pub const fn new(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self {
            registers,
            hz,
            alignment,
        }
    }
}

impl<T: TickRegisters> ClockSource for Tick<T> {
    fn describe(&self) -> Description {
        Description {
            name: "%tick",
            width: Width::TICK,
            hz: self.hz,
            step: 1,
            rating: 250,
            scope: self.alignment.scope(),
            hazards: Hazards {
                rate_varies: true,
                ..Hazards::default()
            },
        }
    }

    #[inline]
    fn read(&self, strand: StrandId) -> Option<u64> {
        Some(self.registers.tick(strand))
    }
}

impl<T: TickRegisters> ClockSource for Stick<T> {
    fn describe(&self) -> Description {
        Description {
            name: "%stick",
            width: Width::TICK,
            hz: self.hz,
            step: 1,
            rating: 300,
            scope: self.alignment.scope(),
            hazards: Hazards::default(),
        }
    }

    #[inline]
    fn read(&self, strand: StrandId) -> Option<u64> {
        Some(self.registers.stick(strand))
    }
}
