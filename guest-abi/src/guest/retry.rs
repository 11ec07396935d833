//! EWOULDBLOCK, tried again a bounded number of times.
//!
//! The service remembers a strand that it refused and lets it in before others, as long as it asks again soon: so
//! what is done between two tries is best kept short.

use core::fmt;
use core::hint::spin_loop;
use core::num::NonZeroU32;

use super::{Hypercall, PerfCounters};
use crate::register::PerfReg;
use crate::status::HvError;

/// How often something is tried at most: at least once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tries(NonZeroU32);

impl Tries {
    /// No second try.
    pub const ONCE: Self = Self(NonZeroU32::MIN);

    /// So many; `None` for 0.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Tries until the answer is another than EWOULDBLOCK, so often at most.
    #[cfg(feature = "capi")]
    pub(crate) fn retry(
        self,
        attempt: impl FnMut() -> Result<(), HvError>,
    ) -> Result<(), RetryError> {
        retry(self, spin, attempt).map(|answer| answer.value)
    }

    /// How many.
    pub const fn number(self) -> u32 {
        self.0.get()
    }
}

/// Why a call that was tried again came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryError {
    /// EWOULDBLOCK, this many times.
    StillBlocked(Tries),
    /// Another error, which trying again does not mend.
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

pub(super) struct Answer<T> {
    pub(super) value: T,
    pub(super) refused: u32,
}

pub(super) fn retry<T>(
    tries: Tries,
    mut pause: impl FnMut(u32),
    mut attempt: impl FnMut() -> Result<T, HvError>,
) -> Result<Answer<T>, RetryError> {
    for refused in 0..tries.number() {
        if refused > 0 {
            pause(refused);
        }
        match attempt() {
            Ok(value) => return Ok(Answer { value, refused }),
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
    /// [`get`](Self::get), tried again on EWOULDBLOCK.
    ///
    /// # Errors
    /// What the last try answered.
    pub fn get_retrying(&self, register: PerfReg, tries: Tries) -> Result<u64, RetryError> {
        self.get_retrying_with(register, tries, spin)
    }

    /// As [`get_retrying`](Self::get_retrying), with something to do between two tries; it is told how many were
    /// refused so far.
    ///
    /// # Errors
    /// What the last try answered.
    pub fn get_retrying_with(
        &self,
        register: PerfReg,
        tries: Tries,
        pause: impl FnMut(u32),
    ) -> Result<u64, RetryError> {
        retry(tries, pause, || self.get(register)).map(|answer| answer.value)
    }

    /// [`set`](Self::set), tried again on EWOULDBLOCK.
    ///
    /// # Errors
    /// What the last try answered.
    pub fn set_retrying(
        &self,
        register: PerfReg,
        value: u64,
        tries: Tries,
    ) -> Result<(), RetryError> {
        self.set_retrying_with(register, value, tries, spin)
    }

    /// As [`set_retrying`](Self::set_retrying), with something to do between two tries; it is told how many were
    /// refused so far.
    ///
    /// # Errors
    /// What the last try answered.
    pub fn set_retrying_with(
        &self,
        register: PerfReg,
        value: u64,
        tries: Tries,
        pause: impl FnMut(u32),
    ) -> Result<(), RetryError> {
        retry(tries, pause, || self.set(register, value)).map(|answer| answer.value)
    }
}
