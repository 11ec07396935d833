//! A sun4v hypervisor. It runs the guests that a machine description lists, and gives them the performance counter service and the
//! other services that a small kernel needs.
//!
//! [`services`] and [`logger`] are for any image. The rest is for SPARC V9 only. `Handler` starts the image and its strands;
//! `perfctr_service::sun4v_image!` connects `Handler` to the trap entries. An image implements `Board` for the hardware below it, and
//! `HasStorage` for the hypervisor's memory.
//!
//! Strand 0 reads the machine description, prepares the services, and starts the guests' strands. Without a description there is one guest
//! with every right, on strand 0. The image runs on the simulated machine, and on QEMU's niagara machine, which has neither %pcr nor %pic
//! (feature `pcr-in-memory` of `platform`).
//!
//! When a guest ends, through a call or a trap that it cannot take, the other guests continue. The ended guest's strands wait, and its
//! counters are scrubbed. When the last guest has ended, the machine is switched off. A guest whose last strand has died has not ended: the
//! machine stays on, and the operator sees the guest's state in the mailbox.
//!
//! A guest that the operator resets starts at its entry, on the first of its strands that has not died. Guests that have ended can be reset
//! too. The guest's memory stays as it is, because the image has no copy of the program. The operator can load the program before the
//! reset.
#![no_std]
#![deny(unsafe_code)]

#[cfg(target_arch = "sparc64")]
#[allow(unsafe_code)]
mod image;
pub mod logger;
pub mod services;

#[cfg(target_arch = "sparc64")]
pub use image::{
    Board, BoardHypervisor, GuestLayout, Guests, Handler, HasStorage, HypervisorStorage, Layout,
    ReportingEnvironment, Services, Stick, TimesOfDay, assemble, configure, cross_call, failed,
};
