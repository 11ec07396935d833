//! The recording that comes with the program.

use super::Recording;

static RECORDING: &[u8] = include_bytes!("../../bundled/workload.lackey.zst");

/// The program of the bundled recording, an ELF file that has its symbols and no code.
pub static BUNDLED_PROGRAM: &[u8] = include_bytes!("../../bundled/workload.elf");

/// The bundled recording: 2.9 million references of `bundled/workload.rs`, as it really ran.
#[must_use]
pub fn bundled() -> Recording {
    Recording::from_reader(
        "the bundled recording",
        RECORDING,
        Some(RECORDING.len() as u64),
    )
    .expect("the recording is part of the program")
}
