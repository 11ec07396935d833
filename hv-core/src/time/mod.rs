//! A reliable clock from several counters, even if some counters are unreliable.
//!
//! - [`Verdict`] says whether a [source](guest_abi::clock::ClockSource) is safe on a machine, and if not, why. [`choose`] returns
//!   the best of several sources.
//! - [`WrapExtender`] and [`Scale`] convert the values of a counter to nanoseconds.
//! - [`Timekeeper`] and [`StrandClock`] return the time from the chosen source. A strand's clock never goes back.
//! - [`Watchdog`] compares the sources with each other, and retires a bad source. It trusts the source again when the source has
//!   been right for a while.
//! - [`FrequencyMeter`] measures a clock's frequency against another clock, and bounds the error.
//! - [`TimeOfDay`] tracks the time of day by following a reference.
//!
//! This module never corrects the clocks that measure durations. A correction would bring the reference's noise into the clock, and this
//! noise is usually worse than the clock's own. A bad source is replaced instead. Clocks do not depend on the time of day.
//!
//! ```
//! use guest_abi::StrandId;
//! use guest_abi::clock::{Clock, ClockSource, Description, Hazards, Scope, Width};
//! use hv_core::time::{Candidate, Environment, Finding, Limits, Timekeeper, Watchdog};
//! # use std::sync::atomic::{AtomicU64, Ordering};
//!
//! /// In an image, `read_register` reads a hardware register.
//! struct Register(&'static str, u16);
//!
//! impl ClockSource for Register {
//!     fn describe(&self) -> Description {
//!         Description {
//!             name: self.0,
//!             width: Width::TICK,
//!             hz: 1_000_000_000,
//!             step: 1,
//!             rating: self.1,
//!             scope: Scope::Machine,
//!             hazards: Hazards::default(),
//!         }
//!     }
//!
//!     fn read(&self, _: StrandId) -> Option<u64> {
//!         # static COUNT: AtomicU64 = AtomicU64::new(1 << 62);
//!         # let read_register = || COUNT.fetch_add(100, Ordering::Relaxed);
//!         Some(read_register())
//!     }
//! }
//!
//! let environment = Environment { strands: 256, idle_stops_counters: true, rate_changes: false, cpu_hz: 1_415_103_448, poll_interval: 500_000_000 };
//! let strand = StrandId::new(70).unwrap();
//! let candidates = [Register("%stick", 300), Register("timer", 200)].map(Candidate::new);
//! let keeper = Timekeeper::new(candidates, &environment, strand).unwrap();
//!
//! // Each strand has its own clock.
//! let clock = keeper.clock(strand);
//! let before = clock.ticks();
//! assert!(clock.ticks() > before);
//!
//! // The watchdog of the strand checks every half second.
//! let mut watchdog = Watchdog::new(Limits::default());
//! assert_eq!(watchdog.check(&keeper, strand), Finding::Begun);
//! assert_eq!(watchdog.check(&keeper, strand), Finding::Agrees);
//! assert_eq!(keeper.chosen(), 0);
//! ```

mod day;
mod finding;
mod frequency;
mod judge;
mod keeper;
pub mod pc;
mod safety;
mod sample;
mod scale;
mod source;
mod watchdog;
mod wrap;

pub use day::{Correction, DayReading, TimeOfDay};
pub use finding::{Fault, Finding, Limits, Measured, Skipped};
pub use frequency::{Frequency, FrequencyMeter, Reading};
pub use keeper::{NoUsableClock, StrandClock, Timekeeper};
pub use safety::{Environment, OperatorSetting, Reason, Verdict, choose, max_poll_interval};
pub use scale::Scale;
pub use source::{Candidate, Trust};
pub use watchdog::Watchdog;
pub use wrap::WrapExtender;
