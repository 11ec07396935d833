use guest_abi::StrandId;
use refs::{Mapping, Process};

/// The facts about a recording that are known before its threads are read.
#[derive(Default)]
pub(super) struct About {
    pub(super) name: String,
    pub(super) threads: usize,
    /// The number of references of all threads, if it is known.
    pub(super) references: Option<u64>,
    /// The strands of the threads; empty if the recording does not name them.
    pub(super) strands: Vec<StrandId>,
    pub(super) has_flow: bool,
    pub(super) target: Option<String>,
    pub(super) command: Option<String>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) notes: Vec<String>,
    /// Notes about actions of the program that the recording lacks. `notes` contains these notes, too.
    pub(super) missing: Vec<String>,
    pub(super) process: Process,
    /// A number that only the recordings of one file have in common; 0 if the recording is the only one of its file.
    pub(super) family: u64,
}
