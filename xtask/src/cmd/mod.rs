//! The commands. Each is a module with its arguments and a function `run`.

pub mod api;
pub mod bench;
pub mod bundle;
pub mod fuzz;
pub mod header;
pub mod mutants;
pub mod packages;
pub mod prove;
pub mod qemu;
pub mod test;
