//! DRAM performance control and counter registers (FWARC/2007/529 section 2.2).

use bitfield_struct::bitfield;

use super::{EventSelect, ReservedEvent};
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

impl EventSelect for DramPcr {
    type Event = DramEvent;

    const WRITABLE: u64 = 0xff;

    fn field(counter: Counter) -> u64 {
        match counter {
            Counter::Pic0 => 0xf0,
            Counter::Pic1 => 0x0f,
        }
    }

    fn with_event(self, counter: Counter, event: DramEvent) -> Self {
        match counter {
            Counter::Pic0 => self.with_select0(event.code()),
            Counter::Pic1 => self.with_select1(event.code()),
        }
    }

    fn event(self, counter: Counter) -> Result<DramEvent, ReservedEvent> {
        let code = match counter {
            Counter::Pic0 => self.select0(),
            Counter::Pic1 => self.select1(),
        };
        DramEvent::from_code(code).ok_or(ReservedEvent(code.into()))
    }
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
    /// The bits that exist.
    pub const WRITABLE: u64 = 0x7fff_ffff_7fff_ffff;

    /// How many bits a counter has.
    pub const WIDTH: u32 = 31;

    /// One of the two counters.
    pub const fn counter(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => self.pic0(),
            Counter::Pic1 => self.pic1(),
        }
    }
}
