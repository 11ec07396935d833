//! DRAM performance control and counter registers (FWARC/2007/529 section 2.2).

use bitfield_struct::bitfield;

use super::ones;
use crate::event::DramEvent;
use crate::register::Counter;

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

/// DRAM PIC: both 31-bit counters of a channel in one register.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct DramPic {
    /// Counter 1, bits 30:0.
    #[bits(31)]
    pub pic1: u32,
    __: bool,
    /// Counter 0, bits 62:32.
    #[bits(31)]
    pub pic0: u32,
    __: bool,
}

impl DramPic {
    /// The bits that a guest can write.
    pub const WRITABLE: u64 =
        ones(Self::PIC0_OFFSET, Self::PIC0_BITS) | ones(Self::PIC1_OFFSET, Self::PIC1_BITS);

    /// The number of bits of a counter.
    pub const WIDTH: u32 = Self::PIC0_BITS as u32;

    /// Returns one of the two counters.
    pub const fn counter(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => self.pic0(),
            Counter::Pic1 => self.pic1(),
        }
    }
}
