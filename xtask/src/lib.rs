//! The commands of `cargo xtask`, and the modules that they share.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]

pub mod budgets;
pub mod cargo;
pub mod cmd;
mod figures;
pub mod qemu;
mod steps;
pub mod tools;
