//! The clocks of the host.
//!
//! - [`host`]: reads the clocks.
//! - [`machine`]: the properties of the processors and of their cycle counter, as the system reports them.
//! - [`measure`]: measures frequency, resolution, cost, steps back and drift.
//! - [`fit`]: fits a line to the differences of two clocks.

pub mod fit;
pub mod host;
pub mod machine;
pub mod measure;

pub use host::{HostClock, Name};
