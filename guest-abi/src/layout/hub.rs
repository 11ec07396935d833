//! Control registers of a Zambezi hub (FWARC/2007/529 sections 2.4 to 2.6). A hub's counters have 64 bits.

use bitfield_struct::bitfield;

use crate::event::{AsuEvent, GpdEvent, LpuEvent};

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

super::event_select! {
    LpuPcr counts LpuEvent;
    GpdPcr counts GpdEvent;
    AsuPcr counts AsuEvent;
}
