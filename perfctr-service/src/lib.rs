#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]

mod access;
mod call;
mod changes;
mod clear;
pub mod description;
mod grants;
mod guest;
mod hubs;
mod l2;
mod leaf;
mod operator;
pub mod policy;
mod progress;
mod record;
mod request;
mod service;
#[cfg(any(target_arch = "sparc64", doc))]
pub mod sparc64;
pub mod statistics;
mod table;
pub mod trace;
pub mod transfer;
mod units;

pub use grants::{Grants, Right, RightError};
pub use l2::LOCK_TRIES as L2_LOCK_TRIES;
pub use operator::ChangeError;
pub use policy::{ConfigError, Grant, GuestConfig, StrandRight, StrandSet};
pub use progress::BUSY_LIMIT_TICKS;
pub use service::{PerfCounterContext, PerfCounterService};
pub use table::write_mask;
pub use transfer::CHANGE_LOCK_TRIES;
pub use units::{Unit, UnitState};
