//! DRAM performance control and counter registers (FWARC/2007/529 section 2.2).

use bitfield_struct::bitfield;

use crate::counter::{Counter, CounterSet};
use crate::event::DramEvent;

/// DRAM PCR: two 4-bit event selects.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct DramPcr {
    /// Event of counter 1, bits 3:0.
    #[bits(4)]
    pub select1: u8,
    /// Event of counter 0, bits 7:4.
    #[bits(4)]
    pub select0: u8,
    #[bits(56)]
    __: u64,
}

super::event_select! {
    DramPcr counts DramEvent;
}

/// DRAM PIC: both 31-bit counters of a channel in one register. The bit above each counter is its flag: a wrap sets the flag, and
/// only a write of the register clears it.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct DramPic {
    /// Counter 1, bits 30:0.
    #[bits(31)]
    pub pic1: u32,
    /// Bit 31: counter 1 has wrapped.
    pub wrapped1: bool,
    /// Counter 0, bits 62:32.
    #[bits(31)]
    pub pic0: u32,
    /// Bit 63: counter 0 has wrapped.
    pub wrapped0: bool,
}

impl DramPic {
    /// The bits that a guest can write: all.
    pub const WRITABLE: u64 = u64::MAX;

    /// The number of bits of a counter, without its flag.
    pub const WIDTH: u32 = Self::PIC0_BITS as u32;

    /// Returns one of the two counters, without its flag.
    pub const fn counter(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => self.pic0(),
            Counter::Pic1 => self.pic1(),
        }
    }

    /// Returns a counter with its flag in bit 31, in the form that
    /// [`DramCount`](crate::guest::DramCount) expects.
    pub const fn raw(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => (self.into_bits() >> 32) as u32,
            Counter::Pic1 => self.into_bits() as u32,
        }
    }

    /// Returns the counters that have wrapped since their flags were last cleared.
    pub const fn wrapped(self) -> CounterSet {
        CounterSet::new(self.wrapped0(), self.wrapped1())
    }
}
