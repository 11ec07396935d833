//! Clocks, and the hardware counters that they are made from.

mod source;

use static_assertions::assert_obj_safe;

pub use source::{ClockSource, Description, Hazards, Scope, Width};

/// A clock that never goes back.
///
/// Its rate is constant, and its 64 bits do not wrap in the life of a machine. On sun4v this is %stick.
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
