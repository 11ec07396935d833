//! The commands of `vfalls`, and what they share.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]

pub mod cmd;
mod disassembly;
pub mod exit;
pub mod interrupt;
pub mod output;
pub mod page;
pub mod recorder;
pub mod say;
pub mod symbols;
pub mod table;
pub mod text;
pub mod tools;
