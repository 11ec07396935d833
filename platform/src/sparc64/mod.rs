//! What a hypervisor needs of SPARC V9 below Rust: the way into it from reset and from a trap, and the hardware traits on
//! the real thing. SPARC V9 only.
//!
//! # From trap to Rust and back
//! [`sun4v_image!`](crate::sun4v_image) puts the trap table and the veneers into an image. A trap takes one of two paths.
//!
//! *Leaf path*: VFALLS_GET_PERFREG and VFALLS_SET_PERFREG. The veneer calls a Rust function that has no stack and no
//! register window (see [`leaf`]). The function serves the call or knows why it is refused, and the veneer ends with `done`;
//! or it does nothing, and the call takes the general path as if it had just trapped. What each instruction of this path
//! is for is told by `cargo xtask qemu`.
//!
//! *General path*: all else. The veneer keeps the guest's %o registers, %y and window registers in the strand's
//! [`StrandBlock`], and calls a Rust function on the strand's stack with [`WINDOWS`] register windows of its own. The
//! guest's windows come back as they were; those that it had free come back zero. A `save` too many traps as a spill of
//! "other" windows (trap types 0xa0 to 0xbf), which is fatal: an ordinary spill would write where the guest's stack
//! pointer says.
//!
//! On both paths %o1 to %o5, %o7, %y and the window registers come back as they were, but for the values that the call
//! returns.
//!
//! # Globals
//! The veneers work at GL = [`MAXGL`]. Privileged code cannot select that level (`wrpr %gl` stops at 2 there), so they
//! need not clear what they leave in it on the leaf path. QEMU lets a guest select it all the same.
//!
//! # Faults
//! An access on the leaf path that faults makes the leaf function refuse with [`leaf::FAULTED`]. [`read`](crate::Bus::read) and
//! [`write`](crate::Bus::write) of [`Mmio`], which the general path uses, return
//! [`AccessError::Fault`](crate::AccessError::Fault).

mod block;
mod boot;
mod fault;
mod general;
mod image;
pub mod layout;
pub mod leaf;
mod mmio;
mod strand;
mod table;

pub use block::{Call, StrandBlock, start_over};
pub use mmio::Mmio;
pub use strand::StrandRegs;

/// How many register windows a strand has.
pub const NWINDOWS: usize = 8;

/// How many of them Rust code on the general path may use: that many calls that need one can be nested in the function
/// that the veneer calls, that one included.
pub const WINDOWS: usize = 5;

/// The level of globals that only hyperprivileged code can select.
pub const MAXGL: usize = 3;

/// What a stack pointer is lower than the stack frame (SPARC V9 ABI).
pub const STACK_BIAS: usize = 2047;

/// PSTATE of the hypervisor: PRIV and PEF, interrupts off, 64-bit addresses, big-endian.
pub const PSTATE: usize = 0x14;

/// ASI_HYP_SCRATCHPAD, and the place in it where the address of the strand's [`StrandBlock`] is kept. Guests reach the
/// other places but 0x28 through their own scratchpad on some machines.
pub const SCRATCHPAD: (usize, usize) = (0x4f, 0x20);

/// The encoding of `wrhpr %gRS1, IMMEDIATE, REGISTER`, which assemblers do not know.
#[doc(hidden)]
pub const fn wrhpr(rs1: u32, immediate: u32, register: u32) -> u32 {
    2 << 30 | register << 25 | 0x33 << 19 | rs1 << 14 | 1 << 13 | immediate
}
