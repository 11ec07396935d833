//! The hardware of Victoria Falls machines as a hypervisor sees it: where registers are, how they are reached, and
//! which of them a machine has. No guests and no policy.
//!
//! A hypervisor engineer implements two traits, [`Bus`] and [`StrandRegisters`], or takes those of the module [`sparc64`],
//! which is there on SPARC V9 only.
//!
//! Time is in [`ticks`] and [`ptimer`], for those who want it.
//!
//! The feature `models` adds simulated devices. It is off in production images.
#![no_std]
#![cfg_attr(target_arch = "sparc64", feature(asm_experimental_arch))]
#![deny(unsafe_code)]

pub mod access;
pub mod address;
pub mod machine;
pub mod md;
#[cfg(feature = "models")]
pub mod models;
pub mod ptimer;
#[cfg(any(target_arch = "sparc64", doc))]
pub mod sparc64;
pub mod ticks;

pub use access::{AccessError, Bus, StrandRegisters};
pub use address::PhysicalAddress;
pub use machine::{Machine, MachineError, Model};
pub use ticks::TickRegisters;
