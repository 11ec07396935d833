//! Clocks, and the hardware counters that clocks read.

mod source;

use static_assertions::assert_obj_safe;

pub use source::{ClockSource, Description, Hazards, Scope, Width};

/// A clock that never goes backwards.
///
/// The rate is constant, and the 64-bit value does not wrap during a machine's lifetime. On sun4v, %stick is such a clock.
pub trait Clock {
    /// Returns the ticks since a fixed moment.
    fn ticks(&self) -> u64;
}

assert_obj_safe!(Clock, ClockSource);

impl<C: Clock + ?Sized> Clock for &C {
    fn ticks(&self) -> u64 {
        (**self).ticks()
    }
}
