//! The commands of `cargo xtask`, and what they share.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]

pub mod budgets;
pub mod cargo;
pub mod cmd;
pub mod exit;
pub mod figures;
pub mod interrupt;
pub mod output;
pub mod qemu;
pub mod recorder;
pub mod report;
pub mod say;
pub mod steps;
pub mod table;
pub mod tools;
