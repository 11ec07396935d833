//! Control registers of a Zambezi hub (FWARC/2007/529 sections 2.4 to 2.6). A hub's counters have 64 bits.

use bitfield_struct::bitfield;

use crate::event::{AsuEvent, GpdEvent, LpuEvent};

/// LPU PCR: an 8-bit event select for each counter. Counter 0 has bits 7:0, counter 1 bits 15:8.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct LpuPcr {
    select0: u8,
    select1: u8,
    #[bits(48)]
    __: u64,
}

/// GPD PCR: a 4-bit event select for each counter. Counter 0 has bits 3:0, counter 1 bits 11:8.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct GpdPcr {
    #[bits(4)]
    select0: u8,
    #[bits(4)]
    __: u8,
    #[bits(4)]
    select1: u8,
    #[bits(52)]
    __: u64,
}

/// ASU PCR: a 4-bit event select for each counter. Counter 0 has bits 3:0, counter 1 bits 11:8.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct AsuPcr {
    #[bits(4)]
    select0: u8,
    #[bits(4)]
    __: u8,
    #[bits(4)]
    select1: u8,
    #[bits(52)]
    __: u64,
}

super::event_select! {
    LpuPcr counts LpuEvent;
    GpdPcr counts GpdEvent;
    AsuPcr counts AsuEvent;
}
