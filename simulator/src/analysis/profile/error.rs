use guest_abi::guest::NegotiateError;
use perfctr_service::ConfigError;

use crate::memory::{MemoryError, Stray};
use crate::recording::RecordingError;
use crate::replay::placement::PlacementError;
use crate::replay::region::RegionError;

/// Why a list of events cannot be sampled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EventError {
    #[error("found '{0}', expected EVENT[,EVENT]...")]
    EmptyName(String),
    /// The unit has no event with this name. The message suggests similar names.
    #[error("{0}")]
    Unknown(String),
    #[error("found event {0}, expected 0 to 31")]
    UnknownNumber(usize),
    #[error("the event {0} is named twice")]
    Twice(&'static str),
    #[error("waits are counted as cycles, but the event cycles is not sampled")]
    NoCycles,
    #[error("{found} events, expected at most {most} for each of the two counters")]
    TooMany { found: usize, most: usize },
}

/// Why a program cannot be sampled.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProfileError {
    Events(#[from] EventError),
    Recording(#[from] RecordingError),
    Placement(#[from] PlacementError),
    #[error("there is no program, expected at least one")]
    NoProgram,
    #[error("{0}: found no instruction, expected at least one, such as \"I  04001090,3\"")]
    NoInstruction(String),
    Memory(#[from] MemoryError),
    Stray(#[from] Stray),
    SamplingGuest(#[from] ConfigError),
    Negotiate(#[from] NegotiateError),
    #[error("found {0} processors, expected 1 to {most}", most = super::MAX_PROCESSORS)]
    Processors(usize),
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error("an R10000 has no warm-up: expected a region without one")]
    WarmUp,
    #[error("the counters cannot count: {0}")]
    Refused(String),
}
