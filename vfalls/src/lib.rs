//! The commands of `vfalls`, and the modules that they share.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]

mod budget;
pub mod cmd;
mod compared;
mod disassembly;
pub mod exit;
pub mod interrupt;
mod numbers;
pub mod output;
pub mod page;
pub mod plain;
mod progress;
pub mod recorder;
pub mod say;
mod symbols;
pub mod table;
mod text;
pub mod tools;
