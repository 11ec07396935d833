//! One error type for everything that a guest does with its counters.

use core::fmt;

use super::{NegotiateError, PmuMismatch, RetryError, SnapshotError};
use crate::error::{OutOfRange, UnknownName};
use crate::layout::{ReservedEvent, SparcSelect};
use crate::sampling::NoRoom;
use crate::status::HvError;

macro_rules! errors {
    ($($(#[$doc:meta])* $variant:ident($error:ty),)*) => {
        /// Any error of this crate. `?` converts every error to this type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Error { $($(#[$doc])* $variant($error),)* }

        $(
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Self::$variant(error)
                }
            }
        )*

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Self::$variant(error) => error.fmt(f),)* }
            }
        }

        impl core::error::Error for Error {}
    };
}

errors! {
    /// The hypervisor refused a call with this status.
    Status(HvError),
    /// Group 0x205 could not be negotiated.
    Negotiate(NegotiateError),
    /// A repeated call failed.
    Retry(RetryError),
    /// A PMU could not be read.
    Snapshot(SnapshotError),
    /// A count was updated with a snapshot of another PMU.
    PmuMismatch(PmuMismatch),
    /// The requested events need more turns than the profiler has.
    NoRoom(NoRoom<SparcSelect>),
    /// A counter's select code stands for no event.
    ReservedEvent(ReservedEvent),
    /// A number is out of a type's range.
    OutOfRange(OutOfRange),
    /// A text is not the name of any value.
    UnknownName(UnknownName),
}

impl Error {
    /// Returns the status of the call that failed; `None` if no call failed.
    pub const fn status(&self) -> Option<HvError> {
        match self {
            Self::Status(status) => Some(*status),
            Self::Negotiate(error) => error.status(),
            Self::Retry(error) => error.status(),
            Self::Snapshot(error) => error.status(),
            _ => None,
        }
    }
}
