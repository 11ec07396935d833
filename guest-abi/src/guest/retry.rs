//! Repeats a call while its status is EWOULDBLOCK, a limited number of times.

use core::fmt;
use core::hint::spin_loop;
use core::num::NonZeroU32;

use crate::error::in_range;
use crate::status::HvError;

/// The maximum number of tries of a call: at least 1. The default is [`ONCE`](Self::ONCE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tries(NonZeroU32);

impl Tries {
    /// A single try.
    pub const ONCE: Self = Self(NonZeroU32::MIN);

    /// Returns a limit of `number` tries; `None` for 0.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number of tries.
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    /// Calls `attempt` until its status is not EWOULDBLOCK, at most this number of times. Fails with the error of the last try.
    ///
    /// An attempt is `|| counters.get(register)`, for example, or any other call of [`PerfCounters`](super::PerfCounters).
    pub fn retry<T>(self, attempt: impl FnMut() -> Result<T, HvError>) -> Result<T, RetryError> {
        self.retry_with(|_| spin_loop(), attempt)
    }

    /// Like [`retry`](Self::retry), but calls `pause` between two tries, with the number of refused tries so far.
    ///
    /// Keep the pauses below half a millisecond: then the service serves a refused strand after at most one access of each other strand,
    /// however often others ask. A strand that pauses longer may be forgotten, and then starts to wait again.
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
    /// Returns the status of the last try: always `Some`.
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
