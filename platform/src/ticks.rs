//! %tick and %stick, the counters of a strand (UltraSPARC Architecture 2007): 63 bits each, and bit 63 is NPT. The counters of two strands
//! agree only if the hypervisor sets them to a common value when it starts the strands.

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

/// The relation between the values of a counter on different strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// The hypervisor set the counter of each strand to a common value when it started the strand.
    Aligned,
    /// The counters of two strands may differ.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
enum Register {
    Tick,
    Stick,
}

/// %tick or %stick as a source of time.
#[derive(Clone, Copy, Debug)]
pub struct TickSource<T> {
    registers: T,
    register: Register,
    hz: u64,
    alignment: Alignment,
}

impl<T> TickSource<T> {
    /// Returns %tick, which counts the cycles of the processor: the rate falls when power management slows the processor. `hz` is
    /// the rate in Hz, property `clock-frequency` of a strand in the machine description, or 0 if it is unknown.
    pub const fn tick(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self::new(registers, Register::Tick, hz, alignment)
    }

    /// Returns %stick, which counts the ticks of the system's clock at a constant rate. `hz` is the rate in Hz, property
    /// `stick-frequency` of the platform in the machine description, or 0 if it is unknown.
    pub const fn stick(registers: T, hz: u64, alignment: Alignment) -> Self {
        Self::new(registers, Register::Stick, hz, alignment)
    }

    const fn new(registers: T, register: Register, hz: u64, alignment: Alignment) -> Self {
        Self { registers, register, hz, alignment }
    }
}

impl<T: TickRegisters> ClockSource for TickSource<T> {
    fn describe(&self) -> Description {
        let (name, rating, rate_varies) = match self.register {
            Register::Tick => ("%tick", 250, true),
            Register::Stick => ("%stick", 300, false),
        };
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
            hazards: Hazards { rate_varies, ..Hazards::default() },
        }
    }

    #[inline]
    fn read(&self, strand: StrandId) -> Option<u64> {
        Some(match self.register {
            Register::Tick => self.registers.tick(strand),
            Register::Stick => self.registers.stick(strand),
        })
    }
}
