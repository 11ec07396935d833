//! The commands as a person or a script runs them.

mod bad_input;
mod call;
mod check;
mod consoles;
mod debugger;
mod diff;
mod events;
mod help;
mod interrupts;
mod md;
mod packages;
mod program;
mod prove;
mod record;
mod regs;
mod sim;
mod sim_bad_input;
mod sim_program;
mod sim_scenario;
mod sim_threads;
mod streams;
mod theory;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_xtask");
