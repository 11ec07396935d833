//! The plug-in of QEMU's user-mode emulator with which `cargo xtask record` records programs.
//!
//! QEMU calls it when it translates a block of instructions, when a block executes, when an instruction accesses data, and
//! around system calls. What it hears goes into a [`Log`](simulator::recording::native::Log) for each thread, and from there
//! into the file that is described in [`simulator::recording`]. Nothing of what is executed is changed.
//!
//! Its arguments: `output=FILE`, to which it appends; `errors=FILE`, to which it writes why it had to end the program; `limit=N`,
//! to end the program soon after N references.
//!
//! Simplifications: an instruction that QEMU begins anew (a repeated string instruction of x86, after each element) is recorded as often; a
//! block that a signal interrupts is recorded whole; what the kernel does to memory, and the traps of SPARC's register windows, are not
//! recorded.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(dead_code, reason = "QEMU calls it"))]

mod calls;
mod decode;
mod mappings;
mod order;
mod output;
mod process;
#[cfg(not(test))]
mod qemu;
mod thread;
