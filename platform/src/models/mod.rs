//! Models of a Victoria Falls machine's performance registers.
//!
//! - Each device is a plain state machine: [`StrandUnit`], [`L2`], [`MemoryController`], [`HubChip`]. [`Devices`] holds all devices
//!   of a machine.
//! - [`PtimerEngine`] and [`TickCounters`] model sources of time.
//! - [`SparcUnit`] and [`R10000`] (another processor) implement [`CounterUnit`](guest_abi::sampling::CounterUnit) for sampling.
//!
//! The models count only events that the caller reports, such as a simulated memory system. A reserved event counts nothing, and its select
//! reads back as it was written. A counter keeps its value when its event changes, and wraps at its width.

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
pub use strand::{Early, Phase, StrandUnit};
pub use ticks::{TickCounter, TickCounters};

use crate::AccessError;

/// Implements `Default` with `new()`, which is const.
macro_rules! default_is_new {
    ($($model:ty),*) => {
        $(impl Default for $model {
            fn default() -> Self {
                Self::new()
            }
        })*
    };
}

default_is_new!(HubChip, L2, StrandUnit, r10000::Cycle);

/// Returns the result of a device access, which faults if the device does not answer.
#[inline(always)]
const fn answer(answers: bool) -> Result<(), AccessError> {
    if answers { Ok(()) } else { Err(AccessError::Fault) }
}
