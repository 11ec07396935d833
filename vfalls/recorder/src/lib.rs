//! The plug-in for QEMU's user-mode emulator with which `vfalls record` records programs.
//!
//! QEMU calls the plug-in when it translates a block of instructions, when a block executes, when an instruction accesses data, and around
//! system calls. The plug-in fills a [`Log`](refs::Log) for each thread, and encodes it into the frames that [`refs`] describes. The
//! program behaves as it does without the plug-in.
//!
//! A process that the program forks is recorded, too. A process can also replace its program. If the emulator can execute the new program,
//! the plug-in replaces the old program with the emulator, and the emulator executes the new program. In the recording, the new program is
//! a further process.
//!
//! With `only=NAME`, the plug-in records only the function with the symbol `NAME` (module `only`). If the function has several symbols, the
//! option is repeated.
//!
//! The plug-in connects to the socket `socket=PATH` for each message. A message is a line that begins with the number of the process. If
//! the program has replaced another program, the option `process=NUMBER` gives this number. The line continues in one of these ways:
//!
//! ```text
//! frames BYTES REFERENCES INSTRUCTIONS THREAD  one or two frames follow this line
//! begins ID        the process begins; ID is its number in the kernel
//! forks            the process is about to fork; the answer is the number of the new process
//! forked FRAMES ID the new process begins; the first FRAMES frames of definitions are those of the forking process
//! child ID         the process has forked this process; ID is the number of the new process in the kernel
//! execs BYTES      the process is about to become another program; its command line follows; the answer is the number of the new process
//! refused NUMBER   the process could not become the new process
//! turns PATH       the process is about to become another program, which is not recorded
//! stays            the process could not become the other program
//! shares START LENGTH [DEVICE:FILE OFFSET]  the process has mapped memory to share it
//! ends REASON      the recording cannot go on; the process is ended
//! cannot REASON    the frames cannot be written; the process is ended
//! exits            the process exits, and everything is written
//! ```
//!
//! The recording host determines how long a thread waits for a lock, and which thread takes the lock first. The recorder leaves these waits
//! out of the recording. To find these waits, it looks up the C library's lock functions (module `functions`) and follows calls to them
//! (module `lock_call`). The recorder also finds each section of a lock that has seen another section's effect, and must therefore stay
//! after that section (module `flow`).
//!
//! Simplifications: QEMU restarts a repeated x86 string instruction after each element, and each start is recorded. A block that a signal
//! interrupts is recorded whole. A conditional SPARC branch at the end of a page is recorded as not taken. The kernel's memory accesses and
//! the traps of SPARC's register windows are not recorded.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(dead_code, reason = "QEMU calls it"))]

mod calls;
mod decode;
mod elf;
mod flow;
mod functions;
mod lock_call;
mod mappings;
mod new_program;
mod objects;
mod only;
mod order;
mod output;
mod process;
mod program_memory;
#[cfg(not(test))]
mod qemu;
mod share;
mod thread;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if a holder has panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
