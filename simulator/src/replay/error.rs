use guest_abi::guest::{NegotiateError, PmuMismatch, RetryError, SnapshotError};
use guest_abi::{HvError, PerfReg, Pmu};
use perfctr_service::ConfigError;

use crate::memory::Stray;
use crate::recording::RecordingError;
use crate::replay::region::RegionError;

/// Why a replay failed before its programs ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RunError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Guests(#[from] ConfigError),
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    #[error("{register} cannot be read or written")]
    Register { register: PerfReg, source: RetryError },
    #[error("PERF_CONFIG of node {node} cannot be set")]
    PerfConfig { node: usize, source: HvError },
    #[error("the units cannot be probed")]
    Probe(#[source] HvError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Count(#[from] PmuMismatch),
    #[error("a strand's counters cannot be started")]
    Start(#[source] HvError),
    #[error("{0} counted while nothing happened")]
    CountedAlone(Pmu),
    #[error("the program has no strand")]
    NoStrand,
    /// A change of rights was not complete after 10,000,000 cross-calls. Even the slowest hubs need far fewer.
    #[error("a change of rights does not complete")]
    Endless,
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error(transparent)]
    Stray(#[from] Stray),
}
