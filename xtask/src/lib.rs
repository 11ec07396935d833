//! What a person runs.
#![deny(unsafe_code)]

pub mod clocks;
pub mod cmd;
pub mod ctf;
pub mod events;
pub mod interrupt;
pub mod lackey;
pub mod md;
pub mod memory;
pub mod mutants;
pub mod nearest;
pub mod output;
pub mod profile;
pub mod qemu;
pub mod sim;
pub mod strands;
pub mod table;
pub mod tools;
pub mod trace;
