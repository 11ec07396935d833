//! Simulated devices: models of the performance registers of a Victoria Falls machine.
//!
//! Each device is a plain state machine with `&mut self`: [`StrandUnit`], [`L2`], [`MemoryController`],
//! [`HubChip`]. [`Devices`] holds all devices of a machine, and implements [`Bus`](crate::Bus) and
//! [`StrandRegisters`](crate::StrandRegisters) for them. [`PtimerEngine`] and [`TickCounters`] model sources of time.
//!
//! Two models implement [`CounterUnit`](guest_abi::sampling::CounterUnit), for code that samples: [`SparcUnit`], the
//! counters of a strand, and [`R10000`], the counters of another processor.
//!
//! The models count the events that the caller reports. Which events happen in a machine is for the caller, such as a
//! simulated memory system, to decide.
//!
//! A reserved event counts nothing, and its select reads back as written. A counter keeps its value when its event
//! changes, and wraps at its width.

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
pub use strand::{Early, Phase, StrandUnit};
pub use ticks::{TickCounter, TickCounters};
