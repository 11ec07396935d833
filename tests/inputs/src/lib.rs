//! Properties that hold for every input, however malformed: one function for each kind of input. It panics if a property does
//! not hold, and returns what the input has reached.
//!
//! libFuzzer calls these functions (`cargo xtask fuzz`, from `tests/fuzz`). An ordinary test calls them with the inputs in
//! `corpus`: seeds, inputs with which the fuzzer reached new code, and inputs that found a defect.
#![allow(
    missing_docs,
    reason = "a comment that repeats a name says nothing, and only tests use this crate"
)]

pub mod gdb_packets;
pub mod hypercalls;
pub mod md_reader;
pub mod md_round_trip;
pub mod trace_input;
