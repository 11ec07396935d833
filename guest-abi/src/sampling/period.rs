//! The number of events between samples.

use core::num::NonZeroU32;

use crate::error::in_range;

/// The number of events between two overflows: 1 to 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(NonZeroU32);

impl Period {
    /// A period of one event: every event is sampled.
    pub const MIN: Self = Self(NonZeroU32::MIN);

    /// 2^31 events. With a longer period, a counter could not show whether it has overflowed already.
    pub const MAX: Self = Self(NonZeroU32::MIN.saturating_add((1 << 31) - 1));

    /// Returns a period of `events` events; `None` if `events` is 0 or above 2^31.
    pub const fn new(events: u32) -> Option<Self> {
        match NonZeroU32::new(events) {
            Some(events) if events.get() <= Self::MAX.0.get() => Some(Self(events)),
            _ => None,
        }
    }

    /// Returns a period of `events` events. Replaces 0 by 1, and a number above 2^31 by 2^31.
    pub const fn nearest(events: u64) -> Self {
        if events > Self::MAX.0.get() as u64 {
            return Self::MAX;
        }
        match NonZeroU32::new(events as u32) {
            Some(events) => Self(events),
            None => Self::MIN,
        }
    }

    /// Returns the number of events, 1 to 2^31.
    pub const fn events(self) -> u32 {
        self.0.get()
    }
}

in_range!(Period, u32, "period", 1, Self::MAX.events());
