//! The recording that comes with the program.

use super::TraceReader;

static RECORDING: &[u8] = include_bytes!("../../traces/workload.lackey.zst");

/// The bundled recording: 2.9 million references of `traces/workload.rs`, as it really ran.
#[must_use]
pub fn bundled() -> TraceReader {
    TraceReader::from_reader(
        "the bundled recording",
        RECORDING,
        Some(RECORDING.len() as u64),
    )
    .expect("the recording is part of the program")
}
