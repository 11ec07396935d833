//! Simulated devices: register models of what a Victoria Falls machine counts with.
//!
//! Each device is a plain state machine with `&mut self`: [`StrandUnit`], [`L2`], [`MemoryController`],
//! [`HubChip`]. [`Devices`] holds all of a machine's and puts them behind [`Bus`](crate::Bus) and
//! [`StrandRegisters`](crate::StrandRegisters). The time sources [`PtimerEngine`] and [`TickCounters`] stand
//! beside them.
//!
//! [`SparcUnit`] is a strand's counters as code that samples uses them, and [`R10000`] the counters of another processor:
//! both are a [`CounterUnit`](guest_abi::sampling::CounterUnit).
//!
//! The models count what they are told of. What happens in a machine is for a memory system to say.
//!
//! An event that is reserved counts nothing, and its select reads back. Counters count on while they are
//! written or their event changes, and wrap at their width.

mod decode;
mod devices;
mod hub;
mod l2;
mod mcu;
mod ptimer;
pub mod r10000;
mod sparc;
mod strand;
#[cfg(test)]
mod tests;
mod ticks;

pub use devices::{Devices, FaultyUnit};
pub use hub::HubChip;
pub use l2::L2;
pub use mcu::MemoryController;
pub use ptimer::PtimerEngine;
pub use r10000::R10000;
pub use sparc::{NoHtRight, SparcUnit};
pub use spin::MutexGuard;
pub use strand::{Early, StrandUnit};
pub use ticks::{TickCounter, TickCounters};
