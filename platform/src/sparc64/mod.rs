//! What a hypervisor needs below Rust on SPARC V9: the paths from reset and traps to safe Rust code and back, and access to the hardware.
//!
//! # How to write an image
//! 1. Implement [`TrapHandler`], which starts a strand, says which memory its guest has, serves its hypercalls, and handles its end.
//! 2. Call [`sun4v_image!`](crate::sun4v_image) with that type, or the macro of a service that has a fast path. For the performance
//!    counter service see `perfctr_service::sparc64`, which also shows a whole image.
//! 3. Give the service [`Mmio`] and [`StrandRegs`], or other types that implement the traits [`Bus`](crate::Bus) and `StrandRegisters`.
//! 4. Call [`panicked`] in the `#[panic_handler]`.
//! 5. Link with the linker script that this crate ships: see [`sun4v_image!`](crate::sun4v_image).
//! 6. For each of the [optional interfaces](crate::interfaces) that the image has, call [`sun4v_note!`](crate::sun4v_note).
//!
//! `vfalls new-image DIR` writes a small image with two guests, as a separate project.
//!
//! # From trap to Rust and back
//! A hypercall takes one of two paths. Both paths preserve %o1 to %o5, %o7, %y and the window registers, except registers that hold
//! results.
//!
//! The *fast path* is for calls of a service that has a fast path. The service's veneer is assembly without stack and register window. The
//! veneer either serves the call and ends with `done`, or does nothing. If it does nothing, the call takes the slow path as if the call
//! had just trapped. Calls of trap 0xff first enter [`TrapHandler::core_fast`], a [leaf function](#leaf-functions) that serves most calls
//! about versions.
//!
//! The *slow path* is for all other calls. The veneer saves the guest's %o registers, %y and window registers in the strand's block. It
//! calls [`TrapHandler::trap`] on the strand's stack. The Rust code then has two register windows. Each further window, up to [`WINDOWS`],
//! costs a trap that spills an "other" window (trap types 0xa0 to 0xbf). An ordinary spill would write to the address in the guest's stack
//! pointer. A `save` beyond [`WINDOWS`] is fatal: code that nests more calls, such as a logger, goes through [`with_all_windows`]. After
//! the call, the guest's windows are as before, but the first two may be zero if they were free.
//!
//! The veneers return EBADTRAP for functions that the image does not [serve](TrapHandler::served). The trap table returns EBADTRAP for
//! software traps 0x81 to 0xfe that the image does not claim. Claimed traps take the slow path to [`TrapHandler::software_trap`].
//!
//! # Many strands
//! An image for [many strands](crate::sun4v_image) has a block and a stack for each strand. Strand 0 starts at reset. It prepares
//! everything, and then [starts](interrupt::start_strand) the others, which also begin with [`TrapHandler::start`].
//!
//! The hypervisor takes no interrupts. An interrupt that another strand [sends](interrupt::send) waits until the strand is in its guest.
//! The strand then calls [`TrapHandler::interrupted`]. A strand that waits in the hypervisor [halts](interrupt::halt) and
//! [takes](interrupt::take) its interrupts. A strand whose guest has ended enters the guest again at the entry that [`TrapHandler::ended`]
//! returns.
//!
//! # Memory of the guest
//! A guest uses real addresses while its MMU is off, and in accesses through ASI_REAL. Its [`Partition`] says which physical memory the
//! real addresses refer to. If the TLBs of the core have no entry for an address, the strand takes instruction_real_translation_miss (0x3e)
//! or data_real_translation_miss (0x3f). The handler, in assembly, computes the entry from the bounds of the strand's guest. An access
//! outside the bounds is a guest trap. Hyperprivileged addresses are physical. QEMU translates nothing, so there a guest can access all
//! memory.
//!
//! # Traps of the guest
//! UltraSPARC Architecture 2007 sends to the hypervisor some traps that concern only the guest. The guest takes such a trap in its own trap
//! table (%tba) if the table is in the memory that the image gives it. The guest is then at its next trap level, with TPC, TNPC and TSTATE
//! of the program that trapped, as if the processor had sent the trap:
//!
//! | to the hypervisor | to the guest |
//! |---|---|
//! | instruction_access_exception 0x08, data_access_exception 0x30 | the same |
//! | illegal_instruction 0x10, unimplemented ones 0x12 and 0x13, invalid accesses 0x0b and 0x14 to 0x17 | the same |
//! | mem_address_not_aligned 0x34 and its variants for other sizes 0x35, 0x36, 0x38, 0x39; privileged_action 0x37 | the same |
//! | instruction_real_translation_miss 0x3e outside of its memory | instruction_access_exception 0x08 |
//! | data_real_translation_miss 0x3f outside of its memory | data_access_exception 0x30 |
//!
//! The last two rows are *assumed*; there is no fault status area. All other traps, and all traps at the guest's trap level 2, end the
//! guest.
//!
//! # HTSTATE of the guest's trap levels
//! At every privilege level, `done` and `retry` set HPSTATE to HTSTATE of the trap level. A guest can select trap levels 1 and 2 with
//! `wrpr %tl`, so HTSTATE of these two levels never keeps a hypervisor value: code that takes a trap within the hypervisor clears HTSTATE
//! before the guest continues.
//!
//! # Leaf functions
//! A leaf function uses neither stack nor register window, because both are the guest's. It calls nothing, has no inline assembly, no
//! bounds check and no panic, and needs few registers. Rust cannot express this, so check the linked image: there must be no `save` and no
//! `call` between `__leaf_start` and `__leaf_end`.
//!
//! # Globals
//! The veneers use the globals of GL = [`MAXGL`], and leave their values there. Privileged code cannot select that level, because
//! `wrpr %gl` in privileged code sets at most 2. (QEMU lets a guest select it.)
//!
//! # Faults
//! The section `.sun4v.faults` lists each hypervisor instruction that may fault, and the address where the strand then continues. If a
//! device access on the fast path faults, immediately or while the veneer waits for the store, [`FastPath::faulted`] undoes what the veneer
//! did, and the call takes the slow path. There, [`read`](crate::Bus::read) and [`write`](crate::Bus::write) of [`Mmio`] return
//! [`AccessError::Fault`](crate::AccessError::Fault). Every other hypervisor trap ends the guest on the strand: [`TrapHandler::ended`]
//! receives the trap with all registers, as a [`FatalTrap`].
//!
//! # Late faults
//! After a fast-path store to a device other than a hub, the strand continues immediately. If the store fails, the processor reports the
//! failure at a later guest or hypervisor instruction, with the trap store_error. The trap handler keeps the report, and the strand
//! continues at the interrupted instruction with all registers as they were. The strand calls [`TrapHandler::faulted_late`] for each report
//! before it executes the guest's next instruction, or before it serves a call on the slow path.
//!
//! - If the report arrives while the fast path serves a call for the device that has failed, the call returns the status from
//!   [`FastPath::refused_late`].
//! - The slow path and the handlers of other traps wait for earlier stores before they call Rust code. While Rust code executes, only an
//!   [`Mmio`] store can therefore fail. `write` then returns the fault, and `faulted_late` is not called.
//! - A report may arrive while another report's handler executes.
//!
//! QEMU has no late faults: its stores fail immediately or never.

/// Assembles text whose operands are the named numbers of [`layout`], and any further operands.
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_asm {
    ([$($text:expr),* $(,)?], [$($name:ident)*], { $($operands:tt)* }) => {
        ::core::arch::global_asm!(
            $($text,)*
            $($name = const $crate::sparc64::layout::$name,)*
            $($operands)*
        );
    };
}

mod block;
mod boot;
mod entry;
mod fatal;
mod fault;
mod general;
mod guest;
mod handler;
mod image;
pub mod interrupt;
mod late;
pub mod layout;
mod mmio;
mod reports;
mod strand;
mod table;
mod uart;
mod windows;

pub use block::{FAST_WORDS, StrandBlock};
pub use entry::{core_entry, fatal_entry, panicked, start_entry, trap_entry};
pub use fatal::FatalTrap;
pub use fault::recover_entry;
pub use guest::{Entry, Partition};
pub use handler::{End, FastPath, TrapHandler};
pub use mmio::{Mmio, PtimerMmio};
pub use strand::StrandRegs;
pub use uart::{Uart, cannot_start, stop};
#[doc(hidden)]
pub use windows::FRAME_WITH_WINDOWS;
pub use windows::with_all_windows;

/// A strand's number of register windows.
pub const NWINDOWS: usize = 8;
/// The number of register windows that Rust code on the slow path may use. The function that the veneer calls needs one window. Each
/// nested call that the compiler does not inline needs one more.
pub const WINDOWS: usize = 5;
/// The global level (GL) that only hyperprivileged code can select.
pub const MAXGL: usize = 3;
/// The distance in bytes from %sp up to the stack frame (SPARC V9 ABI).
pub const STACK_BIAS: usize = 2047;
/// The hypervisor's PSTATE: PRIV and PEF, interrupts off, 64-bit addresses, big-endian.
pub const PSTATE: usize = 0x14;
/// ASI_HYP_SCRATCHPAD, and the address of the register in it that points to the strand's block, for the veneers. On some machines guests
/// can access all other addresses except 0x28 through their own scratchpad.
pub const SCRATCHPAD: (usize, usize) = (0x4f, 0x20);

/// The encoding of `wrhpr %gRS1, IMMEDIATE, REGISTER`, which assemblers do not know.
#[doc(hidden)]
pub const fn wrhpr(rs1: u32, immediate: u32, register: u32) -> u32 {
    2 << 30 | register << 25 | 0x33 << 19 | rs1 << 14 | 1 << 13 | immediate
}
