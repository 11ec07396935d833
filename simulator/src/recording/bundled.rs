//! The recording that comes with the program.

use super::Recording;

static RECORDING: &[u8] = include_bytes!("../../bundled/workload.refs");

/// The program of the bundled recording, an ELF file that has its symbols and lines and no code.
pub static BUNDLED_PROGRAM: &[u8] = include_bytes!("../../bundled/workload.elf");

/// The bundled recording: 3 million references of the eight threads of `bundled/workload.c`, as it really ran on SPARC V9.
#[must_use]
pub fn bundled() -> Recording {
    Recording::from_reader(
        "the bundled recording",
        RECORDING,
        Some(RECORDING.len() as u64),
    )
    .expect("the recording is part of the program")
}
