//! Tests the whole service: two or three strands take their steps in every order, as `hv_core::sync::steps::orders` explains. Memory is
//! sequentially consistent here; the loom models have weak memory, but fewer orders.
//!
//! `cargo xtask prove` also runs the tests that are ignored here.
//!
//! The tests give the same result on every processor. An emulated SPARC processor would take minutes for them.
#![cfg(not(any(loom, shuttle, target_arch = "sparc64")))]

mod machine;
mod rights;
mod units;
