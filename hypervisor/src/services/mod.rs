//! The sun4v services that a small kernel needs besides the performance counters. Other hypervisors may use them, or copy and change them.
//!
//! | group | version | functions |
//! |---|---|---|
//! | 1 (CORE) | 1.0 | [`CoreGroup`]: mach_exit, mach_desc, cpu_start, cpu_stop, cpu_yield, cpu_qconf, cpu_myid, cpu_state, tod_get, tod_set, cons_getchar, cons_putchar, cons_write |
//! | 3 (soft state) | 1.0 | [`SoftStateGroup`]: mach_set_soft_state, mach_get_soft_state |
//! | 0x300 (diagnosis) | 1.0 | [`DiagGroup`]: diag_ra2pa and diag_hexec, which are always refused |
//!
//! The sun4v specification defines the numbers ([`guest_abi::kernel`]), arguments and statuses. In Sun's hypervisor, a guest can call
//! cpu_stop and cons_write only if it has negotiated version 1.1 of CORE. Here version 1.0 is enough, because the group has no other
//! version.
//!
//! The image implements [`Image`], and lists the three groups after its own services in `hv_core::Hypervisor`. The image also makes the
//! strands enter and leave their guests:
//!
//! 1. At boot, the image calls [`Cpus::start`] for the first strand of each guest. All other strands wait.
//! 2. Each strand that [`Image::notify`] has interrupted calls [`Cpus::take`], and does what the command says: it enters the guest at an
//!    address, or leaves the guest and waits.
//! 3. When a guest ends, through a call or a fatal trap, the image calls [`CoreGroup::end`] for the guest.
//!
//! The module allocates nothing, has no `unsafe`, and never panics, whatever a guest passes. Its calls nest at most three deep, because the
//! strands of some images have few register windows.
#![forbid(unsafe_code)]

mod core_group;
mod cpus;
mod description;
mod diag;
mod group;
mod image;
mod soft_state;

pub use core_group::{CoreGroup, STOP_TRIES};
pub use cpus::{CpuState, Cpus, Start, StrandCommand};
pub use description::{Memory, Platform};
pub use diag::DiagGroup;
pub use image::{ConsoleInput, Image};
pub use soft_state::{SoftState, SoftStateGroup};
