#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(target_arch = "sparc64", feature(asm_experimental_arch))]
#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]

mod bit_set;
pub mod clock;
mod counter;
mod error;
pub mod event;
pub mod function;
pub mod group;
pub mod guest;
pub mod kernel;
pub mod layout;
mod numbered;
pub mod register;
pub mod sampling;
pub mod status;
pub mod strand;
pub mod trap;

pub use clock::Clock;
pub use counter::{Counter, CounterSet};
pub use error::{OutOfRange, UnknownName};
pub use function::{FunctionSet, ServedFunctions};
pub use group::{ApiGroup, Version};
pub use guest::{Error, Hypercall, PerfCounters};
pub use register::{Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg, Pmu, Port, RegisterKind};
pub use status::HvError;
pub use strand::StrandId;
pub use trap::{Registers, Trap};
