//! A sun4v hypervisor for the guests of a machine description, with the performance counter service and what a small kernel needs
//! to run on several strands.
//!
//! Strand 0 reads the description, prepares the services, and starts the strands of the guests. Without a description there is one
//! guest with every right, on strand 0: see [`layout`]. The image runs on the machine that the simulator executes, and on QEMU's
//! niagara machine, which has neither %pcr nor %pic (feature `pcr-in-memory`).
//!
//! A guest that ends, by a call or by a trap that it cannot take, ends alone: its strands wait, what it had of counters is scrubbed,
//! and the others go on. When the last one has ended, the machine is switched off. One of which the last strand has died has not ended:
//! the machine stays on, and the operator sees it in the mailbox.
//!
//! The operator resets a guest, also one that has ended: it begins at its entry, on the first of its strands that has not died, if there is one. Its
//! memory stays as it is. The image has no copy of the program; whoever needs a fresh one loads it before the reset.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod console;
mod guests;
mod handler;
mod layout;
mod mailbox;

use core::panic::PanicInfo;

use platform::sparc64::panicked;
use spin::{Mutex, MutexGuard};

use handler::Handler;

perfctr_service::sun4v_image!(Handler, strands: 256);

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Handler>(info)
}

/// Stores a value that is never dropped. The lock is never released, so that a place is used once. (`spin::Once` can panic,
/// and this image has no panic machinery.)
fn keep<T>(place: &'static Mutex<Option<T>>, value: T) -> &'static T {
    MutexGuard::leak(place.lock()).insert(value)
}
