//! The hardware of Victoria Falls machines as a hypervisor sees it: where registers are, how they are reached, and
//! which of them a machine has. No guests and no policy.
//!
//! A hypervisor engineer implements two traits, [`Bus`] and [`StrandRegisters`].
//!
//! The feature `models` adds simulated devices. It is off in production images.
#![no_std]
#![deny(unsafe_code)]

pub mod access;
pub mod address;
pub mod machine;
#[cfg(feature = "models")]
pub mod models;

pub use access::{AccessError, Bus, StrandRegisters};
pub use address::PhysicalAddress;
pub use machine::{Machine, MachineError, Model};
