//! %tick and %stick, the counters of a strand (UltraSPARC Architecture 2007).
//!
//! Both have 63 bits; bit 63 is NPT. Each strand has its own pair. The counters of two strands agree only if the
//! hypervisor sets them so when it starts the strands.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

/// The counters of the strand that executes the call: `strand` is always that strand.
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

/// How the readings of a counter on different strands relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// The hypervisor set the counter of each strand to the common value when it started the strand.
    Aligned,
    /// The counters of two strands may differ.
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

/// %tick as a source of time: counts the cycles of the processor, whose rate falls when power management slows it.
#[derive(Clone, Copy, Debug)]
pub struct Tick<T> {
    registers: T,
    hz: u64,
    alignment: Alignment,
}

/// %stick as a source of time: counts the ticks of the system's clock, at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct Stick<T> {
    registers: T,
    hz: u64,
    alignment: Alignment,
}

impl<T> Tick<T> {
    /// Returns the source. `hz` is its rate in Hz, property `clock-frequency` of a strand in the machine description, or
    /// 0 if that is unknown.
    pub const fn new(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self {
            registers,
            hz,
            alignment,
        }
    }
}

impl<T> Stick<T> {
    /// Returns the source. `hz` is its rate in Hz, property `stick-frequency` of the platform in the machine description,
    /// or 0 if that is unknown.
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
