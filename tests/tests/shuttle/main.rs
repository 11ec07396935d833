//! The whole service under dozens of strands, in random orders of their steps, for shuttle, which takes the place of the
//! atomics of `hv_core::sync` under `cfg(shuttle)`. `cargo xtask test` runs them, and `cargo xtask prove` in more orders;
//! alone they are run by
//!
//! ```console
//! $ RUSTFLAGS="--cfg shuttle" cargo test --release --package tests --test shuttle --target-dir target/shuttle
//! ```
//!
//! How orders are chosen and repeated is said in `hv_core::sync::schedules`. Orders of one part alone stand beside it, in files
//! `shuttle_*.rs`.
//!
//! Under `cfg(shuttle)` there are 2 guests and 64 strands, and a lock is tried once, so that strands give up, too.
#![cfg(shuttle)]

mod negotiation;
mod transfer;
