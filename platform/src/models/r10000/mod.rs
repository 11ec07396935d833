//! The performance counters of the MIPS R10000, CP0 register 25 (R10000 Microprocessor User's Manual, section 14.20).
//!
//! No sun4v machine has these counters. They show that sampling works with another kind of
//! [`CounterUnit`](guest_abi::sampling::CounterUnit).

mod cycle;
mod event;
mod instruction;
mod register;
mod unit;

pub use cycle::{Branch, Cycle, Operation};
pub use event::R10000Event;
pub use instruction::{Direction, PerformanceMove, RegisterKind};
pub use register::{Control, Ksu, R10000Mode, Status};
pub use unit::R10000;
