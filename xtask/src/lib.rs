//! The commands of `cargo xtask`, and the modules that they share.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]
#![allow(
    missing_docs,
    reason = "only this workspace uses this crate; an error says by itself what happened"
)]

pub mod budgets;
pub mod cargo;
pub mod cmd;
mod figures;
pub mod memory;
mod models;
pub mod qemu;
mod steps;
pub mod tools;
