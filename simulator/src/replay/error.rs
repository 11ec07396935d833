//! Why a replay ends before its program.

use guest_abi::guest::{HtSet, NegotiateError, RetryError, SnapshotError};
use guest_abi::{HvError, PerfReg, Pmu};
use perfctr_service::ConfigError;

use crate::recording::RecordingError;

/// Why a replay ends before its program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A recording cannot be read any further.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The hypervisor rejects the guests.
    #[error(transparent)]
    Guests(#[from] ConfigError),
    /// A guest cannot negotiate a version.
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    /// A register cannot be read or written.
    #[error("{register} cannot be read or written")]
    Register {
        /// The register.
        register: PerfReg,
        /// Why.
        source: RetryError,
    },
    /// PERF_CONFIG of a node cannot be set.
    #[error("PERF_CONFIG of node {node} cannot be set")]
    PerfConfig {
        /// The node.
        node: usize,
        /// Why.
        source: HvError,
    },
    /// The counters of a unit cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The counters of a strand cannot be started.
    #[error(transparent)]
    Start(#[from] HtSet),
    /// A unit counted while nothing happened.
    #[error("{0} counted while nothing happened")]
    CountedAlone(Pmu),
    /// There is no strand to execute the program.
    #[error("the program has no strand")]
    NoStrand,
    /// Cross-calls for a change of rights do not come to an end.
    #[error("a change does not come to its end")]
    Endless,
    /// The observer stopped the replay.
    #[error("the replay was stopped")]
    Stopped,
}
