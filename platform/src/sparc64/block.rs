//! What the veneers keep of a strand.
#![allow(unsafe_code)]

use core::arch::asm;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr;

use guest_abi::{Registers, Served};

use super::guest::Bounds;
use super::{FAST_WORDS, FatalTrap, WINDOWS};

/// The registers that a trap has found, if it is no hypercall. The strand goes on with what is here then.
#[derive(Debug)]
#[repr(C)]
pub struct Kept {
    pub(super) fatal: UnsafeCell<FatalTrap>,
    pub(super) cansave: Cell<u64>,
    pub(super) otherwin: Cell<u64>,
    pub(super) cleanwin: Cell<u64>,
    pub(super) y: Cell<u64>,
}

impl Kept {
    const fn new() -> Self {
        Self {
            fatal: UnsafeCell::new(FatalTrap::NONE),
            cansave: Cell::new(0),
            otherwin: Cell::new(0),
            cleanwin: Cell::new(0),
            y: Cell::new(0),
        }
    }
}

/// A strand's part of the hypervisor, shared between the veneers and Rust. The strand's scratchpad holds its address.
///
/// `H` is the [`TrapHandler`](super::TrapHandler) of the image. The layout is the same for all of them.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C, align(64))]
pub struct StrandBlock<H> {
    /// [`FastPath::words`](super::FastPath::words).
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
    /// Written before the guest begins. An image has many blocks, so that all of a new one is zero, and none is in its file.
    pub(super) served: Cell<MaybeUninit<Served<'static>>>,
    pub(super) bounds: Cell<Bounds>,
    pub(super) windows: UnsafeCell<[[u64; 16]; WINDOWS]>,
    /// Of an interrupt, which the strand takes in its guest only.
    pub(super) interrupted: Kept,
    /// Of any other trap, which may interrupt the handler of an interrupt.
    pub(super) trapped: Kept,
    pub(super) recovering: Cell<bool>,
}

// SAFETY: only the strand whose block it is uses it, and its veneers run one trap at a time.
unsafe impl<H> Sync for StrandBlock<H> {}

impl<H> StrandBlock<H> {
    /// Returns the block of the strand that executes this.
    ///
    /// # Safety
    /// The strand executes in hyperprivileged mode, in an image of `H`, or needs nothing of the block that depends on `H`.
    pub(super) unsafe fn own() -> &'static Self {
        let block: *const Self;
        // SAFETY: the boot code puts the address into the scratchpad, which only hyperprivileged code can change. The image
        // has the block for ever, and its layout is the same for every handler.
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

    /// Returns the block of a strand that does not run yet.
    #[expect(
        clippy::new_without_default,
        reason = "only the macro of an image makes one"
    )]
    pub const fn new() -> Self {
        Self {
            fast: Cell::new([0; FAST_WORDS]),
            stack: Cell::new(0),
            pcr: Cell::new(0),
            pic: Cell::new(0),
            registers: UnsafeCell::new(Registers {
                o0: 0,
                o1: 0,
                o2: 0,
                o3: 0,
                o4: 0,
                o5: 0,
            }),
            o6: Cell::new(0),
            o7: Cell::new(0),
            y: Cell::new(0),
            cansave: Cell::new(0),
            canrestore: Cell::new(0),
            otherwin: Cell::new(0),
            cleanwin: Cell::new(0),
            handler: Cell::new(ptr::null()),
            served: Cell::new(MaybeUninit::uninit()),
            bounds: Cell::new(Bounds::NONE),
            windows: UnsafeCell::new([[0; 16]; WINDOWS]),
            interrupted: Kept::new(),
            trapped: Kept::new(),
            recovering: Cell::new(false),
        }
    }
}

const _: () = assert!(WINDOWS >= 1 && WINDOWS <= super::NWINDOWS - 3);
