//! What a person runs.

pub mod cmd;
pub mod interrupt;
pub mod lackey;
pub mod memory;
pub mod output;
pub mod tools;
pub mod trace;
