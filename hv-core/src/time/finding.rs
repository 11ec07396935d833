//! The limits and the results of a watchdog.

use core::fmt;

use super::frequency::Frequency;

/// The limits of a [`Watchdog`](super::Watchdog).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest difference between the rates of two sources, in parts per million.
    pub tolerance: u32,
    /// The longest time, in nanoseconds, between the two reads of the reference in a conclusive check.
    pub bracket: u64,
    /// The maximum number of attempts to stay within `bracket` in one check; 0 means 1.
    pub tries: u32,
}

impl Default for Limits {
    /// Returns 500 parts per million (crystals are accurate to 100), 50 us and 3 attempts.
    fn default() -> Self {
        Self { tolerance: 500, bracket: 50_000, tries: 3 }
    }
}

/// The fault of a bad source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The source shows more time than has passed.
    Fast,
    /// The source shows less time than has passed.
    Slow,
    /// The source stands still.
    Stopped,
    /// The source has gone back.
    Backwards,
    /// The source cannot be read.
    Unreadable,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "too fast",
            Self::Slow => "too slow",
            Self::Stopped => "stands still",
            Self::Backwards => "went back",
            Self::Unreadable => "cannot be read",
        })
    }
}

/// The reason why a check was inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skipped {
    /// A read of the reference took too long.
    SlowReference,
    /// Each attempt was interrupted between its reads.
    Disturbed,
    /// The sources differ, but the reference has not advanced: too little time has passed, or the reference has stopped.
    ReferenceStill,
    /// The bad source cannot be retired now: there is no other source, or another strand is changing the source.
    CannotDemote,
}

/// The result of a check. Sources are indices into the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// This was the first check of these sources. The next check compares with it.
    Begun,
    /// The chosen source agrees with the reference.
    Agrees,
    /// The check was inconclusive. The next check compares with the last conclusive check.
    Skipped(Skipped),
    /// There is no other source to compare with.
    NoReference,
    /// The reference, `source`, was bad. The watchdog has retired it.
    #[allow(missing_docs)]
    BadReference { source: usize, fault: Fault },
    /// The chosen source, `source`, was bad. The watchdog has retired it, and `chosen` replaces it.
    #[allow(missing_docs)]
    Demoted { source: usize, fault: Fault, chosen: usize },
}

/// The frequency of the chosen source, `source`, measured by `reference`. Sources are indices into the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Measured {
    pub source: usize,
    pub reference: usize,
    pub frequency: Frequency,
}
