//! The guest's side of the contract: hypercalls through any transport, and tools built on hypercalls.
//!
//! - [`Hypercall`] is the transport. [`Sun4v`] is the real transport, on SPARC V9 only.
//! - [`Core`] makes the calls that need no negotiation, [`PerfCounters`] the calls of group 0x205.
//! - [`PresentPmus`] tells which PMUs exist. [`Tries`] limits how often a call is tried. [`Snapshot`]
//!   holds a PMU's registers.
//! - [`PmuCount`] computes 64-bit counts from snapshots, [`Widened`] from any narrower counter.
//! - [`StrandDriver`] starts and stops the strand's own counters.

mod client;
mod core_calls;
mod error;
mod pic;
mod pmu_count;
mod probe;
mod retry;
mod snapshot;
#[cfg(any(target_arch = "sparc64", doc))]
mod sparc64;
mod transport;
mod widen;

pub use client::{NegotiateError, PerfCounters};
pub use core_calls::Core;
pub use error::Error;
pub use pic::{StrandCounters, StrandDriver};
pub use pmu_count::{PmuCount, PmuMismatch};
pub use probe::{PmuSet, Presence, PresentPmus};
pub use retry::{RetryError, Tries};
pub use snapshot::{Skew, Snapshot, SnapshotError, SnapshotLimits};
#[cfg(any(target_arch = "sparc64", doc))]
pub use sparc64::Sun4v;
pub use transport::Hypercall;
pub use widen::{DramCount, HubCount, Rate, Reading, StrandCount, Widened};
