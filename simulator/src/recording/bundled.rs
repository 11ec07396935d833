//! The recording that is part of the simulator.

use super::recording::Recording;

static RECORDING: &[u8] = include_bytes!("../../bundled/workload.refs");

/// The program of the bundled recording: an ELF file with symbols and line numbers but without code.
pub static BUNDLED_PROGRAM: &[u8] = include_bytes!("../../bundled/workload.elf");

/// Opens the bundled recording. It has 3 million references of the eight threads of `bundled/workload.c`, executed on SPARC V9.
pub fn bundled() -> Recording {
    Recording::from_reader("the bundled recording", RECORDING, Some(RECORDING.len() as u64))
        .expect("the recording is part of the program")
}

/// The source of the bundled program: its path in the debugging information, and its content.
pub static BUNDLED_SOURCE: (&str, &str) =
    ("simulator/bundled/workload.c", include_str!("../../bundled/workload.c"));
