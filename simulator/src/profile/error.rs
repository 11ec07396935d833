//! Why a program cannot be sampled.

use guest_abi::guest::NegotiateError;
use perfctr_service::ConfigError;

use super::guest::TURNS;
use crate::memory::MemoryError;
use crate::placement::PlacementError;
use crate::recording::RecordingError;

/// Why a list of events cannot be sampled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The list has an empty name.
    #[error("found '{0}', expected EVENT[,EVENT]...")]
    EmptyName(String),
    /// The unit has no event of a name. The text has the names that are nearest to it.
    #[error("{0}")]
    Unknown(String),
    /// The unit has no event of this number.
    #[error("there is no event {0}, but 0 to 31")]
    UnknownNumber(usize),
    /// The event is named twice.
    #[error("the event {0} is named twice")]
    Twice(&'static str),
    /// There are more events than can take turns.
    #[error("{0} events, expected at most {TURNS} for each of the two counters")]
    TooMany(usize),
}

/// Why a program cannot be sampled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The events.
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
    Guest(#[from] ConfigError),
    /// The guest cannot negotiate a version.
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    /// The counters refuse to count, for the reason that their unit gives.
    #[error("the counters refuse to count: {0}")]
    Refused(String),
}
