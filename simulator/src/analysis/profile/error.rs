//! Why a program cannot be sampled.

use guest_abi::guest::NegotiateError;
use perfctr_service::ConfigError;

use crate::memory::MemoryError;
use crate::recording::RecordingError;
use crate::replay::placement::PlacementError;

/// Why a list of events cannot be sampled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The list contains an empty name.
    #[error("found '{0}', expected EVENT[,EVENT]...")]
    EmptyName(String),
    /// The unit has no event of this name. The text suggests similar names.
    #[error("{0}")]
    Unknown(String),
    /// The unit has no event of this number.
    #[error("there is no event {0}, but 0 to 31")]
    UnknownNumber(usize),
    /// The event is named twice.
    #[error("the event {0} is named twice")]
    Twice(&'static str),
    /// There are more events than can take turns.
    #[error("{found} events, expected at most {most} for each of the two counters")]
    TooMany {
        /// The number of events that the list names.
        found: usize,
        /// The number of events that can share a counter.
        most: usize,
    },
}

/// Why a program cannot be sampled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The list of events is wrong.
    #[error(transparent)]
    Events(#[from] EventError),
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The threads cannot be placed.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The recording has no instruction.
    #[error("{0}: found no instruction, expected at least one, such as \"I  04001090,3\"")]
    NoInstruction(String),
    /// The machine has no memory, or the configuration of its memory system is impossible.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The hypervisor rejects the guest.
    #[error(transparent)]
    SamplingGuest(#[from] ConfigError),
    /// The guest cannot negotiate a version.
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    /// The counters refuse to count, for the reason that their unit gives.
    #[error("the counters refuse to count: {0}")]
    Refused(String),
}
