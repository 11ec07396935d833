//! Shuttle tests of the whole service, in which dozens of strands take their steps in random orders. Under `cfg(shuttle)`, shuttle replaces
//! the atomics of `hv_core::sync`. `cargo xtask test` runs these tests, and `cargo xtask prove` runs them with more orders. This command
//! runs only these tests:
//!
//! ```console
//! $ RUSTFLAGS="--cfg shuttle" cargo test --release --package tests --test shuttle --target-dir target/shuttle
//! ```
//!
//! `hv_core::sync::schedules` says how orders are chosen and repeated. Tests of a single part are next to the part, in files named
//! `shuttle_*.rs`.
//!
//! Under `cfg(shuttle)`, there are 2 guests and 64 strands. The service tries only once to take a lock, so that some strands give up.
#![cfg(shuttle)]

mod negotiation;
mod transfer;
