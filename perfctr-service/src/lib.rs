//! What the hypercalls `VFALLS_GET_PERFREG` and `VFALLS_SET_PERFREG` mean: the register table, who may use what, who
//! has a hub next, and the accesses themselves (API group 0x205, FWARC/2007/529).
//!
//! [`PerfCounterService`] is an [`hv_core::Service`]. A hypervisor gives it the two hardware traits of [`platform`]
//! and the guests of the machine, and puts it into its [`hv_core::Hypervisor`].
#![no_std]
#![forbid(unsafe_code)]

mod access;
pub mod arbitration;
mod call;
pub mod description;
mod guest;
mod l2;
mod leaf;
pub mod policy;
mod service;
pub mod statistics;
mod table;
mod units;

pub use l2::LOCK_TRIES as L2_LOCK_TRIES;
pub use policy::{ConfigError, Grant, GuestConfig, StrandRight, StrandSet};
pub use service::{PerfCounterSeat, PerfCounterService};
pub use table::write_mask;
pub use units::Unit;
