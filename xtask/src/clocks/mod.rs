//! The clocks of the machine that this program runs on.
//!
//! - [`host`]: how they are read.
//! - [`machine`]: what the system says of the processors and their cycle counter.
//! - [`measure`]: what they are worth.
//! - [`fit`]: how far two of them go apart.

pub mod fit;
pub mod host;
pub mod machine;
pub mod measure;

pub use host::{HostClock, Name};
