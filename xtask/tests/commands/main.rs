//! Runs the commands as a person or a script does.

mod bad_input;
mod check;
mod debugger;
mod help;
mod kernel;
mod packages;
mod program;
mod prove;
