//! The guest's side: calls through any transport, and what a guest makes of them.
//!
//! - [`Hypercall`] is the transport, `Sun4v` the real one (SPARC V9 only); [`Core`] has the calls that need no
//!   negotiation, [`PerfCounters`] those of group 0x205.
//! - [`Present`] says which PMUs exist, [`Tries`] bounds what is retried, [`Snapshot`] reads a PMU whole.
//! - [`Widened`] makes 64-bit counts of narrower counters, [`StrandDriver`] runs the strand's own.

mod client;
mod core_calls;
mod pic;
mod probe;
mod retry;
mod snapshot;
#[cfg(target_arch = "sparc64")]
mod sparc64;
mod transport;
mod widen;

pub use client::{NegotiateError, PerfCounters};
pub use core_calls::Core;
pub use pic::{HtSet, StrandCounters, StrandDriver};
pub use probe::{PmuSet, Presence, Present};
pub use retry::{RetryError, Tries};
pub use snapshot::{Bounds, Skew, Snapshot, SnapshotError};
#[cfg(target_arch = "sparc64")]
pub use sparc64::Sun4v;
pub use transport::Hypercall;
pub use widen::{DramCount, HubCount, Rate, StrandCount, TimedCount, TooLate, Widened};
