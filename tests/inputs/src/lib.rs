//! Properties that hold for every input, however malformed. There is one function for each kind of input. The function panics if a property
//! does not hold. It returns which cases the input has reached.
//!
//! libFuzzer calls these functions (`cargo xtask fuzz`), and an ordinary test calls them with the inputs in `corpus`.
#![allow(
    missing_docs,
    reason = "a comment that repeats a name says nothing, and only tests use this crate"
)]

pub mod gdb_packets;
pub mod md_reader;
pub mod md_round_trip;
pub mod recording_input;

pub use tests::hypercalls;
