#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

#[cfg(test)]
extern crate std;

#[cfg(feature = "decisions")]
#[doc(hidden)]
pub mod decisions;
pub mod description;
mod environment;
mod hubs;
mod l2;
pub mod mailbox;
mod outage;
mod progress;
mod rights;
mod service;
#[cfg(any(target_arch = "sparc64", doc))]
pub mod sparc64;
pub mod statistics;
mod table;
pub mod trace;
mod units;

pub use environment::Environment;
pub use l2::LOCK_TRIES as L2_LOCK_TRIES;
pub use outage::{Cause, NamedGuest, Outage};
pub use progress::{ABSENCE_TICKS, BUSY_LIMIT_TICKS, BUSY_PAUSE_TICKS};
pub use rights::grants::{Grants, RightError};
pub use rights::policy;
pub use rights::policy::{ConfigError, Grant, GuestConfig, Right, StrandRight, StrandSet};
pub use rights::versions::Vfalls;
pub use service::operator::{Change, ChangeError};
pub use service::transfer::{self, CHANGE_LOCK_TRIES};
pub use service::{PerfCounterContext, PerfCounterService};
pub use units::{Unit, UnitState};

/// The target of the crate's log messages. A guest alone cannot make the service repeat a message: a unit that is out of service stays out
/// until the operator returns it, and only the operator moves rights.
pub const LOG_TARGET: &str = "perfctr-service";
