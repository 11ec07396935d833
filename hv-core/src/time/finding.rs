//! A watchdog's limits and results.

use core::fmt;

use super::frequency::Frequency;

/// The limits of a [`Watchdog`](super::Watchdog).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Two sources agree if their rates differ by at most this number of parts per million.
    pub tolerance: u32,
    /// The maximum duration of a check's reads, in nanoseconds. If the reads take longer, the check cannot show that the sources agree.
    pub bracket: u64,
    /// The maximum number of attempts per check. A check repeats its reads if they take longer than `bracket`. 0 means 1.
    pub tries: u32,
    /// The duration, in nanoseconds, for which a retired source must be right before it is trusted again.
    pub probation: u64,
}

impl Default for Limits {
    /// Returns a tolerance of 500 parts per million (crystals are accurate to 100), a bracket of 50 us, 3 tries, and a probation
    /// of a minute.
    fn default() -> Self {
        Self { tolerance: 500, bracket: 50_000, tries: 3, probation: 60_000_000_000 }
    }
}

/// How a bad source is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The source shows more time than has passed.
    Fast,
    /// The source shows less time than has passed.
    Slow,
    /// The source's count does not change, although other sources advance.
    Stopped,
    /// The source's count is lower than in an earlier read.
    Backwards,
    /// A read of the source returned no count.
    Unreadable,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "is too fast",
            Self::Slow => "is too slow",
            Self::Stopped => "stands still",
            Self::Backwards => "went back",
            Self::Unreadable => "cannot be read",
        })
    }
}

/// Why a check was inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skipped {
    /// The reads took longer than [`Limits::bracket`], because a source is slow to read or because the strand was interrupted. The
    /// sources agree, but only within the larger error that slow reads cause.
    Slow,
    /// The bad source cannot be retired now, because it is the last source or because another strand is changing the chosen source.
    CannotDemote,
}

/// The result of a check. Sources are given as indices into the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it")]
pub enum Finding {
    /// This was the first check. The next check compares its counts with the counts of this check.
    Begun,
    /// The trusted sources agree, within the limits.
    Agrees,
    /// The check was inconclusive. The next check compares its counts with the counts of the last conclusive check.
    Skipped(Skipped),
    /// Only one source is trusted, so there is no other source to check it.
    NoReference,
    /// Since an earlier check, the source `ahead` has shown more time than the source `behind`. The watchdog cannot decide which of the two
    /// is wrong, so the time is uncertain.
    Undecided { ahead: usize, behind: usize },
    /// The source was bad, so the watchdog has retired it. From now on, `chosen` gives the time. Check again, because another source may
    /// also be bad.
    Demoted { source: usize, fault: Fault, chosen: usize },
    /// The retired source has been right for [`Limits::probation`]. The watchdog trusts it again.
    Restored { source: usize },
}

/// The frequency of the chosen source `source`, measured against `reference`. Sources are given as indices into the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Measured {
    pub source: usize,
    pub reference: usize,
    pub frequency: Frequency,
}
