//! Repeats a call while its status is EWOULDBLOCK, a limited number of times.

use core::fmt;
use core::hint::spin_loop;
use core::num::NonZeroU32;

use crate::error::in_range;
use crate::status::HvError;

/// The maximum number of times that a call is tried: at least 1. The default is [`ONCE`](Self::ONCE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tries(NonZeroU32);

impl Tries {
    /// One try: a refused call is not repeated.
    pub const ONCE: Self = Self(NonZeroU32::MIN);

    /// Returns a limit of `number` tries; `None` for 0.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the maximum number of tries, which is at least 1.
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    /// Calls `attempt`, and calls it again while it fails with EWOULDBLOCK. Gives up after this number of tries. Any other error ends the
    /// tries immediately.
    ///
    /// For example, `attempt` is `|| counters.get(register)`, or any other call of [`PerfCounters`](super::PerfCounters).
    pub fn retry<T>(self, attempt: impl FnMut() -> Result<T, HvError>) -> Result<T, RetryError> {
        self.retry_with(|_| spin_loop(), attempt)
    }

    /// Works like [`retry`](Self::retry), and calls `pause` before each further try. The argument of `pause` is the number of tries that
    /// have been refused so far.
    ///
    /// If each pause is below half a millisecond, no other strand gets more than one access before the service serves the refused strand,
    /// however often the other strands call. If a strand pauses longer, the service may forget that it has refused the strand, and the wait
    /// starts over.
    pub fn retry_with<T>(
        self,
        mut pause: impl FnMut(u32),
        mut attempt: impl FnMut() -> Result<T, HvError>,
    ) -> Result<T, RetryError> {
        for refused in 0..self.number() {
            if refused > 0 {
                pause(refused);
            }
            match attempt() {
                Err(HvError::WouldBlock) => {}
                result => return result.map_err(RetryError::Failed),
            }
        }
        Err(RetryError::StillBlocked(self))
    }
}

impl Default for Tries {
    fn default() -> Self {
        Self::ONCE
    }
}

in_range!(Tries, u32, "number of tries", 1, u32::MAX);

/// The reason why a repeated call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryError {
    /// The status was EWOULDBLOCK in every try. Holds the number of tries.
    StillBlocked(Tries),
    /// The status of a try was neither success nor EWOULDBLOCK. No more tries were made.
    Failed(HvError),
}

impl RetryError {
    /// Returns the error status of the last try, never `None`. (The type is an `Option` because other errors may have no status.)
    pub const fn status(&self) -> Option<HvError> {
        match self {
            Self::StillBlocked(_) => Some(HvError::WouldBlock),
            Self::Failed(status) => Some(*status),
        }
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StillBlocked(tries) => {
                write!(f, "{} after {} tries", HvError::WouldBlock, tries.number())
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RetryError {}
