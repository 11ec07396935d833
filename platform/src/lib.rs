#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(target_arch = "sparc64", feature(asm_experimental_arch))]
#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]

#[cfg(test)]
extern crate std;

pub mod access;
pub mod address;
pub mod homes;
pub mod interfaces;
mod interleave;
pub mod machine;
pub mod md;
pub mod memory_map;
#[cfg(feature = "models")]
pub mod models;
pub mod ptimer;
#[cfg(any(target_arch = "sparc64", doc))]
pub mod sparc64;
pub mod ticks;

pub use access::{AccessError, Bus, StrandRegisters};
pub use address::PhysicalAddress;
pub use homes::Homes;
pub use interleave::Interleave;
pub use machine::{Machine, MachineError, Model};
pub use ticks::TickRegisters;
