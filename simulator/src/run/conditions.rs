//! The settings of a replay.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The default number of cycles that an access keeps a hub busy.
pub(crate) const USUAL_HUB_CYCLES: u64 = 100;

/// Settings of a replay that the other fields of the replay's result do not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Conditions {
    /// The names of the recordings, in the order of their threads. A name is followed by the command line, if it is known, as in
    /// `p.refs (./p 7)`.
    pub recordings: Vec<String>,
    /// The kind of L2 misses that the events `L2_imiss` and `L2_dmiss_ld` count; empty if unknown.
    pub perf_config: Cow<'static, str>,
    /// The number of cycles that an access keeps a hub busy; 0 if unknown.
    pub hub_cycles: u64,
}
