//! Tests of recordings in the formats of other tools.

mod champsim;
mod drmemtrace;
mod threads;
