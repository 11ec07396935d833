//! Time, as far as counters need it.

mod source;

use static_assertions::assert_obj_safe;

pub use source::{ClockSource, Description, Hazards, Scope, Width};

/// A clock that never goes back.
///
/// It has a constant rate, and 64 bits: it does not wrap in the life of a machine. On sun4v this is %stick.
pub trait Clock {
    /// Ticks since some moment that does not change.
    fn ticks(&self) -> u64;
}

assert_obj_safe!(Clock, ClockSource);

impl<C: Clock + ?Sized> Clock for &C {
    fn ticks(&self) -> u64 {
        (**self).ticks()
    }
}
