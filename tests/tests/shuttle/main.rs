//! The whole service under dozens of strands, in random orders of their steps, for shuttle, which replaces the atomics of
//! `hv_core::sync` under `cfg(shuttle)`. `cargo xtask test` runs these tests, and `cargo xtask prove` in more orders; this command
//! runs only them:
//!
//! ```console
//! $ RUSTFLAGS="--cfg shuttle" cargo test --release --package tests --test shuttle --target-dir target/shuttle
//! ```
//!
//! `hv_core::sync::schedules` says how orders are chosen and repeated. Tests of a single part stand beside the part, in files
//! `shuttle_*.rs`.
//!
//! Under `cfg(shuttle)` there are 2 guests and 64 strands, and a lock is tried once, so that strands give up, too.
#![cfg(shuttle)]

mod negotiation;
mod transfer;
