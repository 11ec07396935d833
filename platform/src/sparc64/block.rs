//! What the veneers keep of a strand.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::ptr;

use guest_abi::{Registers, Served};

use super::{FAST_WORDS, FatalTrap, WINDOWS};

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
    pub(super) served: Cell<Served<'static>>,
    pub(super) windows: UnsafeCell<[[u64; 16]; WINDOWS]>,
    /// A trap that is no hypercall: its registers, also if the strand recovers from it.
    pub(super) fatal: UnsafeCell<FatalTrap>,
    pub(super) trap_cansave: Cell<u64>,
    pub(super) trap_otherwin: Cell<u64>,
    pub(super) trap_cleanwin: Cell<u64>,
    pub(super) trap_y: Cell<u64>,
    pub(super) recovering: Cell<bool>,
}

// SAFETY: only the strand whose block it is uses it, and its veneers run one trap at a time.
unsafe impl<H> Sync for StrandBlock<H> {}

impl<H> StrandBlock<H> {
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
            served: Cell::new(Served::ALL),
            windows: UnsafeCell::new([[0; 16]; WINDOWS]),
            fatal: UnsafeCell::new(FatalTrap::NONE),
            trap_cansave: Cell::new(0),
            trap_otherwin: Cell::new(0),
            trap_cleanwin: Cell::new(0),
            trap_y: Cell::new(0),
            recovering: Cell::new(false),
        }
    }
}

const _: () = assert!(WINDOWS >= 1 && WINDOWS <= super::NWINDOWS - 3);
