//! Control registers of a Zambezi hub (FWARC/2007/529 sections 2.4 to 2.6). Their counters have all 64 bits.

use bitfield_struct::bitfield;

use super::{EventSelect, ReservedEvent};
use crate::event::{AsuEvent, GpdEvent, LpuEvent};
use crate::register::Counter;

/// LPU PCR: two 8-bit event selects.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct LpuPcr {
    /// Event of counter 0, bits 7:0.
    pub select0: u8,
    /// Event of counter 1, bits 15:8.
    pub select1: u8,
    #[bits(48)]
    __: u64,
}

/// GPD PCR: two 4-bit event selects.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct GpdPcr {
    /// Event of counter 0, bits 3:0.
    #[bits(4)]
    pub select0: u8,
    #[bits(4)]
    __: u8,
    /// Event of counter 1, bits 11:8.
    #[bits(4)]
    pub select1: u8,
    #[bits(52)]
    __: u64,
}

/// ASU PCR: two 4-bit event selects.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct AsuPcr {
    /// Event of counter 0, bits 3:0.
    #[bits(4)]
    pub select0: u8,
    #[bits(4)]
    __: u8,
    /// Event of counter 1, bits 11:8.
    #[bits(4)]
    pub select1: u8,
    #[bits(52)]
    __: u64,
}

macro_rules! event_select {
    ($($pcr:ident counts $event:ident, selects $field0:literal and $field1:literal;)*) => { $(
        impl EventSelect for $pcr {
            type Event = $event;

            const WRITABLE: u64 = $field0 | $field1;

            fn field(counter: Counter) -> u64 {
                match counter {
                    Counter::Pic0 => $field0,
                    Counter::Pic1 => $field1,
                }
            }

            fn with_event(self, counter: Counter, event: $event) -> Self {
                match counter {
                    Counter::Pic0 => self.with_select0(event.code()),
                    Counter::Pic1 => self.with_select1(event.code()),
                }
            }

            fn event(self, counter: Counter) -> Result<$event, ReservedEvent> {
                let code = match counter {
                    Counter::Pic0 => self.select0(),
                    Counter::Pic1 => self.select1(),
                };
                $event::from_code(code).ok_or(ReservedEvent(code.into()))
            }
        }
    )* };
}

event_select! {
    LpuPcr counts LpuEvent, selects 0x00ff and 0xff00;
    GpdPcr counts GpdEvent, selects 0x00f and 0xf00;
    AsuPcr counts AsuEvent, selects 0x00f and 0xf00;
}
