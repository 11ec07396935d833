//! A strand's block: the memory that its veneers share with the Rust code.
#![allow(unsafe_code)]

use core::arch::asm;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;

use guest_abi::{Registers, ServedFunctions};

use super::reports::Reports;
use super::{FatalTrap, WINDOWS};

/// The number of words at the beginning of the strand's block that belong to a fast path.
pub const FAST_WORDS: usize = 22;

/// The registers at a trap that is not a hypercall. The strand continues with these values.
#[derive(Debug)]
#[repr(C)]
pub struct SavedRegisters {
    pub(super) fatal: UnsafeCell<FatalTrap>,
    pub(super) cansave: Cell<u64>,
    pub(super) otherwin: Cell<u64>,
    pub(super) cleanwin: Cell<u64>,
    pub(super) y: Cell<u64>,
}

/// The guest's memory, for the translation miss handlers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Bounds {
    pub(super) real: u64,
    pub(super) bytes: u64,
    /// The mask for the address bits within a TLB page.
    pub(super) page: u64,
    /// The TLB entry for the first page. The entry for each later page differs only in the physical address.
    pub(super) entry: u64,
}

/// The hypervisor's data for one strand. The strand's scratchpad holds the address of its block.
///
/// `H` is the image's [`TrapHandler`](super::TrapHandler). The block's layout does not depend on `H`.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C, align(64))]
pub struct StrandBlock<H> {
    /// The words of the fast path: see [`FastPath::words`](super::FastPath::words).
    pub(super) fast: Cell<[u64; FAST_WORDS]>,
    pub(super) stack: Cell<u64>,
    pub(super) pcr: Cell<u64>,
    pub(super) pic: Cell<u64>,
    pub(super) registers: UnsafeCell<Registers>,
    pub(super) o6: Cell<u64>,
    pub(super) o7: Cell<u64>,
    pub(super) y: Cell<u64>,
    pub(super) cansave: Cell<u64>,
    pub(super) canrestore: Cell<u64>,
    pub(super) otherwin: Cell<u64>,
    pub(super) cleanwin: Cell<u64>,
    pub(super) handler: Cell<*const H>,
    /// Initialised before the guest starts.
    pub(super) served: Cell<MaybeUninit<ServedFunctions<'static>>>,
    pub(super) bounds: Cell<Bounds>,
    pub(super) windows: UnsafeCell<[[u64; 16]; WINDOWS]>,
    /// The registers at an interrupt. The strand takes interrupts only while it executes its guest.
    pub(super) interrupted: SavedRegisters,
    /// The registers at any other trap, which may interrupt an interrupt handler.
    pub(super) trapped: SavedRegisters,
    pub(super) recovering: Cell<bool>,
    pub(super) reports: Reports,
}

// SAFETY: a block is used by its own strand only, and the strand's veneers serve one trap at a time.
unsafe impl<H> Sync for StrandBlock<H> {}

impl<H> StrandBlock<H> {
    /// Returns the block of a strand that has not started. The block is all zero, so that the blocks take no room in the image file.
    pub const fn zeroed() -> Self {
        // SAFETY: all-zero bits are valid for every field: numbers, a `bool`, a raw pointer, and memory that may be uninitialised.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Returns the calling strand's block.
    ///
    /// # Safety
    /// The strand executes in hyperprivileged mode. `H` is the handler of the image, or the caller uses no field whose type
    /// depends on `H`.
    pub(super) unsafe fn current() -> &'static Self {
        let block: *const Self;
        // SAFETY: the boot code puts the address into the scratchpad, which only hyperprivileged code can change. The image
        // never frees the block, and the layout of the block is the same for every handler.
        unsafe {
            asm!(
                "ldxa [{place}] {ASI}, {block}",
                place = in(reg) super::SCRATCHPAD.1,
                block = out(reg) block,
                ASI = const super::SCRATCHPAD.0,
                options(nostack, preserves_flags),
            );
            &*block
        }
    }
}

const _: () = assert!(WINDOWS >= 1 && WINDOWS <= super::NWINDOWS - 3);
