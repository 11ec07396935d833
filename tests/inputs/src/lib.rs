//! What holds for any input, however broken: one function for each kind of input. Each panics where something does not
//! hold, and says what the input has reached.
//!
//! libFuzzer calls them (`cargo xtask fuzz`, from `tests/fuzz`), and an ordinary test does with the inputs in `corpus`:
//! some to begin with, those by which the fuzzer has reached what no other does, and those that once found something.

pub mod hypercalls;
pub mod md_reader;
pub mod md_round_trip;
pub mod trace_input;
