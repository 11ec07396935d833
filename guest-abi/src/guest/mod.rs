//! The guest's side: the calls, through any transport, and what a guest builds on them.
//!
//! - [`Hypercall`] is the transport, `Sun4v` the real one (SPARC V9 only); [`Core`] has the calls that need no
//!   negotiation, [`PerfCounters`] those of group 0x205.
//! - [`Present`] says which PMUs exist, [`Tries`] bounds how often a call is tried, [`Snapshot`] holds a PMU's registers as
//!   they were together.
//! - [`Widened`] makes 64-bit counts from narrower counters, [`StrandDriver`] starts and stops the strand's own counters.

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
