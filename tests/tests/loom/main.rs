//! Loom models, in which strands access the same words in every possible order. Under `cfg(loom)`, loom replaces the atomics of
//! `hv_core::sync`. `cargo xtask test` runs these models, among others. This command runs only these models:
//!
//! ```console
//! $ RUSTFLAGS="--cfg loom" cargo test --release --package tests --test loom --target-dir target/loom
//! ```
//!
//! `hv_core::sync::model` says how models are executed. Models of a single part are next to the part, in files named `loom_*.rs`.
//!
//! Under `cfg(loom)`, there are 2 guests and 4 strands. A strand tries only once to take a lock, so that the models include strands that
//! give up.
#![cfg(loom)]

mod faults;
mod machine;
mod negotiation;
mod statistics;
mod transfer;
