//! The plug-in of QEMU's user-mode emulator with which `cargo xtask record` records programs.
//!
//! QEMU calls it when it translates a block of instructions, when a block executes, when an instruction accesses data, and
//! around system calls. What it hears goes into a [`Log`](simulator::recording::native::Log) for each thread, and from there
//! into the file that is described in [`simulator::recording`]. Nothing of what is executed is changed.
//!
//! Its arguments: `output=FILE`, to which it appends; `messages=FILE`, to which it writes what happens; `limit=N`, to end the
//! program soon after N references. The messages are lines:
//!
//! ```text
//! wrote BYTES REFERENCES INSTRUCTIONS THREAD   one or two frames were appended
//! turns PATH       the process is about to become another program, which is not recorded
//! stays            it could not
//! starts PATH      another process, which the program started, becomes this program
//! limit            there are as many references as wanted; the program is ended
//! ends REASON      the recording cannot go on; the program is ended
//! cannot REASON    the file cannot be written; the program is ended
//! exits            the program exits, and all is written
//! ```
//!
//! Simplifications: an instruction that QEMU begins anew (a repeated string instruction of x86, after each element) is recorded
//! as often. A block that a signal interrupts is recorded whole. Of a SPARC branch at the end of a page it is not known whether
//! it is taken. What the kernel does to memory, and the traps of SPARC's register windows, are not recorded.
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
