//! %tick and %stick, two of a strand's counters (UltraSPARC Architecture 2007). Each has 63 bits; bit 63 is NPT. The counters of two
//! strands agree only if the hypervisor sets them to a common value when it starts the strands.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

/// A strand's counters. `strand` is always the calling strand.
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

/// The relation between the values of a counter on different strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// The hypervisor set each strand's counter to a common value when it started the strand.
    Aligned,
    /// Nothing is known, so the counters of two strands may differ by any amount.
    Unknown,
}

/// %tick or %stick as a time source.
#[derive(Clone, Copy, Debug)]
pub struct TickSource<T> {
    registers: T,
    is_stick: bool,
    hz: u64,
    alignment: Alignment,
}

impl<T> TickSource<T> {
    /// Returns %tick, which counts processor cycles. Its rate falls when power management slows the processor. `hz` is the rate in Hz, from
    /// the property `clock-frequency` of a strand in the machine description; 0 if it is unknown.
    pub const fn tick(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self { registers, is_stick: false, hz, alignment }
    }

    /// Returns %stick, which counts system clock ticks at a constant rate. `hz` is the rate in Hz, from the property `stick-frequency` of
    /// the platform in the machine description; 0 if it is unknown.
    pub const fn stick(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self { registers, is_stick: true, hz, alignment }
    }
}

impl<T: TickRegisters> ClockSource for TickSource<T> {
    fn describe(&self) -> Description {
        let (name, rating) = if self.is_stick { ("%stick", 300) } else { ("%tick", 250) };
        Description {
            name,
            width: Width::TICK,
            hz: self.hz,
            step: 1,
            rating,
            scope: match self.alignment {
                Alignment::Aligned => Scope::Strand,
                Alignment::Unknown => Scope::StrandUnsynchronised,
            },
            hazards: Hazards { rate_varies: !self.is_stick, ..Hazards::default() },
        }
    }

    #[inline]
    fn read(&self, strand: StrandId) -> Option<u64> {
        let registers = &self.registers;
        Some(if self.is_stick { registers.stick(strand) } else { registers.tick(strand) })
    }
}
