//! The sun4v performance counter service as a guest sees it: API group 0x205 of the UltraSPARC T2 Plus
//! ("Victoria Falls"), and the guest's side of it.
//!
//! The contract is FWARC/2007/529 (version 1.1) and FWARC/2007/237 (version 1.0); the trap conventions are
//! those of the sun4v virtual machine specification. Each item names the section that it comes from.
//!
//! - [`trap`], [`group`], [`status`]: numbers that cross the trap, both ways.
//! - [`register`]: the 90 performance registers, their names and what they are.
//! - [`layout`], [`event`]: what is in them.
//! - [`clock`]: time, and the counters that tell it.
//! - [`guest`]: the calls, and what a guest makes of them.
//! - [`sampling`]: counters that interrupt when they overflow.
#![no_std]
#![cfg_attr(target_arch = "sparc64", feature(asm_experimental_arch))]
#![deny(unsafe_code)]

#[cfg(feature = "capi")]
pub mod capi;
pub mod clock;
pub mod event;
pub mod group;
pub mod guest;
pub mod layout;
pub mod register;
pub mod sampling;
pub mod status;
pub mod strand;
pub mod trap;

pub use clock::Clock;
pub use group::{ApiGroup, Version};
pub use guest::{Hypercall, PerfCounters};
pub use register::{Counter, Hub, HubRole, HubUnit, Kind, Mcu, McuRole, Node, PerfReg, Pmu, Port};
pub use status::HvError;
pub use strand::StrandId;
pub use trap::{Registers, Trap};
