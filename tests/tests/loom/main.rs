//! What strands do to each other's words, in every order that they can: models for loom, which takes the place of the
//! atomics of `hv_core::sync` under `cfg(loom)`. `cargo xtask test` runs them; alone they are run by
//!
//! ```console
//! $ RUSTFLAGS="--cfg loom" cargo test --release --package tests --test loom --target-dir target/loom
//! ```
//!
//! How models are run is said in `hv_core::sync::model`. Models of one part alone stand beside it, in files `loom_*.rs`.
//!
//! Under `cfg(loom)` there are 2 guests and 4 strands, and a lock is tried once: so a strand that gives up is in the models
//! too.
#![cfg(loom)]

mod faults;
mod machine;
mod negotiation;
mod statistics;
mod transfer;
