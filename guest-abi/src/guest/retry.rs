//! Repeats a call while its status is EWOULDBLOCK, a limited number of times.

use core::fmt;
use core::hint::spin_loop;
use core::num::NonZeroU32;

use super::{Hypercall, PerfCounters};
use crate::register::PerfReg;
use crate::status::HvError;

/// The maximum number of tries of a call: at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
}

/// The reason why a repeated call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryError {
    /// The status was EWOULDBLOCK in every try. Holds the number of tries.
    StillBlocked(Tries),
    /// The status of a try was neither success nor EWOULDBLOCK. No more tries were made.
    Failed(HvError),
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

/// Calls `attempt` while its status is EWOULDBLOCK, at most `tries` times. Returns the value and the number of refused tries.
pub(super) fn retry<T>(
    tries: Tries,
    mut pause: impl FnMut(u32),
    mut attempt: impl FnMut() -> Result<T, HvError>,
) -> Result<(T, u32), RetryError> {
    for refused in 0..tries.number() {
        if refused > 0 {
            pause(refused);
        }
        match attempt() {
            Ok(value) => return Ok((value, refused)),
            Err(HvError::WouldBlock) => {}
            Err(error) => return Err(RetryError::Failed(error)),
        }
    }
    Err(RetryError::StillBlocked(tries))
}

pub(super) fn spin(_refused: u32) {
    spin_loop();
}

impl<H: Hypercall> PerfCounters<H> {
    /// Calls [`get`](Self::get) until the status is not EWOULDBLOCK, at most `tries` times. Fails
    /// with the error of the last try.
    pub fn get_retrying(&self, register: PerfReg, tries: Tries) -> Result<u64, RetryError> {
        self.get_retrying_with(register, tries, spin)
    }

    /// Like [`get_retrying`](Self::get_retrying), but calls `pause` between two tries, with the number of refused tries so far.
    ///
    /// Keep the pauses below half a millisecond: then the service serves a refused strand after at most one access of each other strand,
    /// however often others ask. A strand that pauses longer may be forgotten, and then waits anew.
    pub fn get_retrying_with(
        &self,
        register: PerfReg,
        tries: Tries,
        pause: impl FnMut(u32),
    ) -> Result<u64, RetryError> {
        retry(tries, pause, || self.get(register)).map(|(value, _)| value)
    }

    /// Calls [`set`](Self::set) until the status is not EWOULDBLOCK, at most `tries` times. Fails
    /// with the error of the last try.
    pub fn set_retrying(
        &self,
        register: PerfReg,
        value: u64,
        tries: Tries,
    ) -> Result<(), RetryError> {
        self.set_retrying_with(register, value, tries, spin)
    }

    /// Like [`set_retrying`](Self::set_retrying), but calls `pause` between two tries, with the number of refused tries so far. See
    /// [`get_retrying_with`](Self::get_retrying_with) for the length of the pauses.
    pub fn set_retrying_with(
        &self,
        register: PerfReg,
        value: u64,
        tries: Tries,
        pause: impl FnMut(u32),
    ) -> Result<(), RetryError> {
        retry(tries, pause, || self.set(register, value)).map(|(value, _)| value)
    }
}
