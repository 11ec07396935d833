use guest_abi::StrandId;
use refs::{Mapping, Process};

/// What is known about a recording before its threads are read.
#[derive(Default)]
pub(super) struct RecordingInfo {
    pub(super) name: String,
    pub(super) threads: usize,
    /// The number of references in all threads, if known.
    pub(super) references: Option<u64>,
    /// Each thread's strand; empty if the recording does not name the strands.
    pub(super) strands: Vec<StrandId>,
    pub(super) has_flow: bool,
    pub(super) target: Option<String>,
    pub(super) command: Option<String>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) notes: Vec<String>,
    /// Notes about program actions that are missing from the recording. They are also in `notes`.
    pub(super) missing: Vec<String>,
    pub(super) process: Process,
    /// An identifier that recordings share only if they are in the same file; 0 if the recording is the only one in its file.
    pub(super) family: u64,
}
