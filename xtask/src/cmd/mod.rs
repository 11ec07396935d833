//! The commands, one in each module: its arguments, and `run`.

pub mod bench;
pub mod c2c;
pub mod call;
pub mod clocks;
pub mod coverage;
pub mod diff;
pub mod events;
pub mod events_out;
pub mod fuzz;
pub mod header;
pub mod machine;
pub mod md;
pub mod mutants;
pub mod packages;
pub mod profile;
pub mod prove;
pub mod qemu;
pub mod record;
pub mod regs;
pub mod run;
pub mod sim;
pub mod test;
pub mod top;

/// The error of a command that did its work and found a defect: exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub String);
