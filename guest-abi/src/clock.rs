//! Clocks, and the hardware counters that clocks read.

mod source;

use static_assertions::assert_obj_safe;

pub use source::{ClockSource, Description, Hazards, Scope, Width};

/// A clock that never goes back.
///
/// The rate is constant, and the 64 bits do not wrap in the life of a machine. On sun4v such a clock is %stick.
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
