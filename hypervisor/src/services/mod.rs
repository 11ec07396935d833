//! The sun4v services that a small kernel needs to run on several strands, beside the performance counters: an embedder's own, to be
//! taken as they are or changed.
//!
//! | group | version | functions |
//! |---|---|---|
//! | 1 (CORE) | 1.0 | [`CoreGroup`]: mach_exit, mach_desc, cpu_start, cpu_stop, cpu_yield, cpu_qconf, cpu_myid, cpu_state, tod_get, cons_getchar, cons_putchar, cons_write |
//! | 3 (soft state) | 1.0 | [`SoftStateGroup`]: mach_set_soft_state, mach_get_soft_state |
//! | 0x300 (diagnosis) | 1.0 | [`DiagGroup`]: diag_ra2pa and diag_hexec, which are always refused |
//!
//! Numbers ([`guest_abi::kernel`]), arguments and statuses are those of the sun4v specification. Sun's hypervisor has cpu_stop and cons_write from version
//! 1.1 of CORE on. Here the group has version 1.0 only, as in an image without these services, and 1.0 has them.
//!
//! The image implements [`Image`], which is what the services need of it, lists the three groups behind its own services in
//! `hv_core::Hypervisor`, and does what [`Cpus::take`] says on a strand that [`Image::notify`] has interrupted:
//!
//! 1. At boot it calls [`Cpus::start`] for the first strand of each guest. All other strands wait.
//! 2. A strand that is interrupted calls [`Cpus::take`]: it enters the guest at an address, or leaves it and waits.
//! 3. A guest that ends, by a call or by a trap that is fatal for it, is stopped by [`CoreGroup::end`].
//!
//! The module allocates nothing, has no `unsafe`, and does not panic on what a guest passes. Calls are nested at most three deep below
//! the service, for images whose strands have few register windows.
#![forbid(unsafe_code)]

mod core_group;
mod cpus;
mod description;
mod diag;
mod group;
mod image;
mod soft_state;

pub use core_group::{CoreGroup, STOP_TRIES};
pub use cpus::{Command, CpuState, Cpus, Start};
pub use description::Platform;
pub use diag::DiagGroup;
pub use image::{ConsoleInput, Image, Memory};
pub use soft_state::{SoftState, SoftStateGroup};
