//! What an instruction does outside its strand.

use guest_abi::{Node, StrandId};

use crate::interpreter::Level;
use crate::recording::Kind;

/// An access to memory or to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Observed {
    pub strand: StrandId,
    /// The time at which the instruction began, in cycles since the machine started.
    pub time: u64,
    pub level: Level,
    pub physical: u64,
    /// The access's size in bytes.
    pub size: u16,
    /// The kind of access. Every fetch has the kind [`Kind::FetchOther`]. An atomic instruction is observed as a load and a store.
    pub kind: Kind,
    /// The bytes that were read or written, as a big-endian number.
    pub value: u64,
}

/// What a completed instruction does to other strands or to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Stops the execution at a watched access.
    Watched(Observed),
    /// Sends a strand an interrupt. The numbers are the arrival time and the vector.
    Interrupt(StrandId, u64, u8),
    /// Withdraws an interrupt that has not arrived. The numbers are the arrival time and the vector.
    Withdraw(StrandId, u64, u8),
    /// Sets which of a node's strands run. Each strand has a bit, which is set if the strand runs, and clear if it is parked.
    Run(Node, u64),
    /// Makes this core's strands discard their cached translations.
    Translation(usize),
    Off,
}
