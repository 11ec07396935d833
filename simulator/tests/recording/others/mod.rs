//! Tests recordings in other tools' formats.

mod champsim;
mod drmemtrace;
mod threads;
