//! A clock that can be trusted, from counters that cannot all be.
//!
//! - [`Verdict`]: whether a [source](guest_abi::clock::ClockSource) is safe on a machine, and why not; [`choose`]: the best
//!   that is.
//! - [`Wrap`] and [`Scale`]: from what a counter shows to nanoseconds.
//! - [`Timekeeper`] and [`StrandClock`]: the time from the chosen source, which never goes back on a strand.
//! - [`Watchdog`]: compares the chosen source with another one, and puts a bad one out of use.
//!
//! Nothing here steers a clock. One that is corrected all the time passes on the noise of what it is corrected by, which is
//! mostly worse than its own; a bad one is replaced. The time of day is another matter, and not one for this module.

mod keeper;
mod safety;
mod sample;
mod scale;
mod strand;
mod watchdog;
mod wrap;

pub use keeper::{Candidate, NoUsableClock, Timekeeper};
pub use safety::{Machine, Operator, Reason, Verdict, choose, longest_poll};
pub use scale::Scale;
pub use strand::StrandClock;
pub use watchdog::{Fault, Finding, Limits, Skipped, Watchdog};
pub use wrap::Wrap;
