//! Properties that hold for every input, however malformed: one function for each kind of input. It panics if a property does
//! not hold, and returns what the input has reached.
//!
//! libFuzzer calls these functions (`cargo xtask fuzz`, from `tests/fuzz`). An ordinary test calls them with the inputs in
//! `corpus`: the first ones, those with which the fuzzer reached new code, and those that once found a defect.

pub mod hypercalls;
pub mod md_reader;
pub mod md_round_trip;
pub mod trace_input;
