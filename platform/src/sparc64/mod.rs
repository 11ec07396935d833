//! What a hypervisor needs of SPARC V9 below Rust: the way from reset and from a trap to safe Rust and back, and the hardware traits
//! on the real hardware. SPARC V9 only.
//!
//! # What the author of an image does
//! 1. Implements [`TrapHandler`]: how the strand starts, who serves its hypercalls, and what happens when it ends.
//! 2. Calls [`sun4v_image!`](crate::sun4v_image) with that type, or the macro of a service that has a fast path. The performance
//!    counter service has one: see `perfctr_service::sparc64`, which also shows a whole image.
//! 3. Gives the service [`Mmio`] and [`StrandRegs`], or types of its own that implement [`Bus`](crate::Bus) and
//!    [`StrandRegisters`](crate::StrandRegisters).
//! 4. Calls [`panicked`] in its `#[panic_handler]`.
//! 5. Links it with the linker script that this crate ships: see [`sun4v_image!`](crate::sun4v_image).
//!
//! # From trap to Rust and back
//! A hypercall takes one of two paths.
//!
//! *Fast path*: calls of a service with a fast path. Its veneer, which is assembly without stack and register window, serves the
//! call and ends with `done`; or it does nothing, and the call takes the slow path as if it had just trapped.
//!
//! Calls of trap 0xff first come to [`TrapHandler::core_fast`], which is a [leaf function](#leaf-functions). It serves those that
//! change nothing.
//!
//! *Slow path*: all other calls. The veneer keeps the guest's %o registers, %y and window registers in memory of
//! the strand, and calls [`TrapHandler::trap`] on the strand's stack. Rust has two register windows then, and gets more, up to
//! [`WINDOWS`], by a trap for each. The guest's windows come back as they were, but the first two are zero if it had them free.
//! A `save` beyond that is fatal. The trap is that of a spill of "other" windows (trap types 0xa0 to 0xbf): an ordinary spill would
//! write where the guest's stack pointer says.
//!
//! Calls of functions that the image does not serve answer EBADTRAP in the veneers: see [`TrapHandler::served`].
//!
//! Other software traps, 0x81 to 0xfe, answer EBADTRAP in the trap table, by two instructions. Those that the image claims take
//! the slow path to [`TrapHandler::software_trap`].
//!
//! On all paths %o1 to %o5, %o7, %y and the window registers come back as they were, but for the values that the call
//! returns.
//!
//! # Many strands
//! An image for [many strands](crate::sun4v_image) has a block and a stack for each. Strand 0 begins at reset; when all is prepared, it
//! [starts](interrupt::start_strand) the others, which begin at [`TrapHandler::start`], too. The hypervisor takes no interrupts: an
//! interrupt that another strand [sends](interrupt::send) waits until this one is in its guest, and then comes to
//! [`TrapHandler::interrupted`]; a strand that waits for one in the hypervisor [halts](interrupt::halt) and [takes](interrupt::take) it.
//! `interrupted` and [`TrapHandler::ended`] have all register windows. A strand whose guest has ended enters it anew where `ended`
//! returns.
//!
//! # Memory of the guest
//! The guest's real addresses, with its MMU off or by ASI_REAL, are those of its [`Partition`]. Where the TLBs of the core have no
//! entry, the trap instruction_real_translation_miss (0x3e) or data_real_translation_miss (0x3f) loads one in assembly; it looks up
//! nothing but the bounds of the strand's guest. What is outside is a trap of the guest's. Hyperprivileged addresses are physical. QEMU
//! translates nothing: there a guest reaches everything.
//!
//! # Traps of the guest
//! UltraSPARC Architecture 2007 sends some traps of a guest to the hypervisor though they are the guest's own affair. If an image gives
//! the guest memory, and the guest's trap table (%tba) is in it, the guest takes them there at its next trap level, with TPC, TNPC and
//! TSTATE of what trapped, as if the processor had sent them:
//!
//! | to the hypervisor | to the guest |
//! |---|---|
//! | instruction_access_exception 0x08, data_access_exception 0x30 | the same |
//! | illegal_instruction 0x10, unimplemented ones 0x12 and 0x13, invalid accesses 0x0b and 0x14 to 0x17 | the same |
//! | mem_address_not_aligned 0x34 and those of other sizes 0x35, 0x36, 0x38, 0x39; privileged_action 0x37 | the same |
//! | instruction_real_translation_miss 0x3e outside of its memory | instruction_access_exception 0x08 |
//! | data_real_translation_miss 0x3f outside of its memory | data_access_exception 0x30 |
//!
//! That these two are what a guest gets for a real address it does not have is *assumed*; there is no fault status area. All other traps
//! end the guest, and so do these at trap level 2, the highest of a guest.
//!
//! # The state behind a trap level
//! `done` and `retry` set HPSTATE to HTSTATE of the trap level on every level of privilege, and a guest can go to levels 1 and 2 by
//! `wrpr %tl`. So nothing of the hypervisor's stays in HTSTATE of these two: who takes a trap within the hypervisor clears it before the
//! guest goes on.
//!
//! # Leaf functions
//! A leaf function uses neither stack nor register window, because both are the guest's. It calls nothing, has no inline assembly, no
//! bounds check and no panic, and needs few registers. Rust cannot express this, so check the linked image: there is no `save` and no
//! `call` between `__leaf_start` and `__leaf_end`.
//!
//! # Globals
//! The veneers work at GL = [`MAXGL`]. Privileged code cannot select that level (`wrpr %gl` stops at 2 there), so they
//! need not clear what they leave in it. QEMU lets a guest select it all the same.
//!
//! # Faults
//! The section `.sun4v.faults` has each instruction of the hypervisor that may fault, and where the strand goes on if it does. If a
//! device access of the fast path faults, at once or while the veneer waits for the store, [`FastPath::faulted`] undoes what the
//! veneer did, and the call takes the slow path. On that path, [`read`](crate::Bus::read) and [`write`](crate::Bus::write) of
//! [`Mmio`] return [`AccessError::Fault`](crate::AccessError::Fault). Every other trap that is no hypercall and no late fault
//! ends the strand: [`TrapHandler::ended`] gets it as a [`FatalTrap`], with all registers.
//!
//! # Late faults
//! The strand does not wait for the stores of the fast path to devices other than hubs. If such a store fails, the trap comes
//! later, and the instruction that it interrupts does not tell what has failed. So each trap that is no hypercall asks
//! [`TrapHandler::faulted_store`] for the address of a failed store first. If the processor reports one,
//! [`TrapHandler::faulted_late`] takes what is there out of service, and then the strand goes on with all registers as they were:
//!
//! - The guest, and the veneers, go on at the interrupted instruction.
//! - But at an instruction of a veneer that may fault itself, the call takes the slow path. If the failed store is that of this
//!   call, the slow path finds its device out of service; if not, it serves the call.
//! - The slow path waits for earlier stores before it calls Rust, so that it is interrupted by failed stores of [`Mmio`] only. If
//!   the store at which it is interrupted is the one that has failed, `write` returns the fault, and `faulted_late` is not called;
//!   else `write` goes on.
//!
//! A late fault ends the strand as any other trap does if `faulted_late` does not claim it; if it interrupts Rust code elsewhere,
//! because the function may be at work on what `faulted_late` changes; and if it interrupts the handler of another late fault,
//! because there is room for the registers of one.
//!
//! QEMU has no late faults: its stores fail at once or never. The images of the project are tested with instructions that are
//! replaced by ones that trap, and a `faulted_store` that returns what the test says. What QEMU cannot show is which trap a real
//! processor takes and what it reports: see [`store_error`].

mod block;
mod boot;
mod entry;
mod fatal;
mod fault;
mod general;
mod guest;
mod image;
pub mod interrupt;
mod late;
pub mod layout;
mod mmio;
mod strand;
mod table;

pub use block::StrandBlock;
pub use entry::{
    End, FAST_WORDS, FastPath, TrapHandler, core_entry, fatal_entry, panicked, start_entry,
    trap_entry,
};
pub use fatal::FatalTrap;
pub use fault::recover_entry;
pub use guest::{Entry, Partition};
pub use late::store_error;
pub use mmio::Mmio;
pub use strand::StrandRegs;

/// How many register windows a strand has.
pub const NWINDOWS: usize = 8;

/// How many of them Rust code on the slow path may use. The function that the veneer calls needs one, and so does each
/// call nested in it that the compiler does not inline.
pub const WINDOWS: usize = 5;

/// The level of globals that only hyperprivileged code can select.
pub const MAXGL: usize = 3;

/// Distance in bytes from %sp up to the stack frame (SPARC V9 ABI).
pub const STACK_BIAS: usize = 2047;

/// PSTATE of the hypervisor: PRIV and PEF, interrupts off, 64-bit addresses, big-endian.
pub const PSTATE: usize = 0x14;

/// ASI_HYP_SCRATCHPAD, and the place in it that holds the address of the strand's memory for the veneers. Through their own
/// scratchpad guests reach the other places but 0x28 on some machines.
pub const SCRATCHPAD: (usize, usize) = (0x4f, 0x20);

/// The encoding of `wrhpr %gRS1, IMMEDIATE, REGISTER`, which assemblers do not know.
#[doc(hidden)]
pub const fn wrhpr(rs1: u32, immediate: u32, register: u32) -> u32 {
    2 << 30 | register << 25 | 0x33 << 19 | rs1 << 14 | 1 << 13 | immediate
}
