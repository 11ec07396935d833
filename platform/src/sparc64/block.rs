//! What the veneers keep of a strand.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};

use guest_abi::Registers;

use super::{STACK_BIAS, WINDOWS, leaf};

/// Which way a trap came to the general path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Call {
    /// Trap 0x80.
    Fast = 0,
    /// Trap 0xff.
    Core = 1,
    /// Trap 0x80 on the leaf path, whose function refused and did nothing.
    Refused = leaf::REFUSED,
    /// Trap 0x80 on the leaf path, whose device access faulted.
    Faulted = leaf::FAULTED,
}

impl Call {
    /// The call as the veneer numbers it.
    pub const fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Fast,
            1 => Self::Core,
            leaf::REFUSED => Self::Refused,
            _ => Self::Faulted,
        }
    }
}

/// A strand's part of the hypervisor, shared between the veneers and Rust. Its address is in the strand's scratchpad.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct StrandBlock {
    pub(crate) seat: Cell<u64>,
    pub(crate) stack: Cell<u64>,
    pub(crate) pcr: Cell<u64>,
    pub(crate) pic: Cell<u64>,
    pub(crate) registers: UnsafeCell<Registers>,
    pub(crate) o6: Cell<u64>,
    pub(crate) o7: Cell<u64>,
    pub(crate) y: Cell<u64>,
    pub(crate) cansave: Cell<u64>,
    pub(crate) canrestore: Cell<u64>,
    pub(crate) otherwin: Cell<u64>,
    pub(crate) cleanwin: Cell<u64>,
    pub(crate) windows: UnsafeCell<[[u64; 16]; WINDOWS]>,
}

// SAFETY: only the strand whose block it is uses it, and its veneers run one trap at a time.
unsafe impl Sync for StrandBlock {}

impl StrandBlock {
    /// The block of a strand that does not run yet.
    pub const fn new() -> Self {
        Self {
            seat: Cell::new(0),
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
            windows: UnsafeCell::new([[0; 16]; WINDOWS]),
        }
    }

    /// Says what the leaf functions are given, and where the stack of the general path ends.
    ///
    /// # Safety
    /// The leaf functions of the image take a reference to a `T`. The stack is this strand's alone, ends at a multiple
    /// of 16, and is large enough for all that the general path calls.
    pub unsafe fn prepare<T>(&self, seat: &'static T, stack_top: u64) {
        // Room for one frame: 16 registers, 6 arguments, and what keeps the stack pointer a multiple of 16.
        self.stack.set(stack_top - 192 - STACK_BIAS as u64);
        self.seat.set(core::ptr::from_ref(seat) as u64);
    }

    /// The guest's %o0 to %o5, on the general path.
    ///
    /// # Safety
    /// Called in a trap of this strand, once.
    #[expect(
        clippy::mut_from_ref,
        reason = "the veneer is the only other user, and waits for the call to end"
    )]
    pub unsafe fn registers(&self) -> &mut Registers {
        // SAFETY: the caller promises that no other reference is there.
        unsafe { &mut *self.registers.get() }
    }
}

impl Default for StrandBlock {
    fn default() -> Self {
        Self::new()
    }
}

/// Goes on in a function that does not return, on the strand's stack and with all register windows: for what comes after a
/// panic or the end of a guest, whose windows are lost.
///
/// # Safety
/// Called in hyperprivileged mode, on a strand whose [`StrandBlock`] is prepared. Nothing on the stack is used any more
/// but what `argument` says.
pub unsafe fn start_over(function: unsafe extern "C" fn(u64) -> !, argument: u64) -> ! {
    unsafe extern "C" {
        fn sun4v_abandon(function: unsafe extern "C" fn(u64) -> !, argument: u64) -> !;
    }
    // SAFETY: the caller promises what it needs.
    unsafe { sun4v_abandon(function, argument) }
}

const _: () = assert!(WINDOWS >= 1 && WINDOWS <= super::NWINDOWS - 3);
