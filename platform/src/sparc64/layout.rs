//! Numbers that the assembly code uses, such as offsets in a strand's block.
#![doc(hidden)]

use core::mem::offset_of;

use guest_abi::{FunctionSet, HvError, ServedFunctions, Trap};

use super::FatalTrap;
use super::block::{Bounds, SavedRegisters};
use super::reports::{Report, Reports};

type StrandBlock = super::StrandBlock<()>;

// A veneer leaves in %g5 the reason why a call takes the slow path: the number of the call's trap, or FAULTED.

/// The reason is a call of trap 0xff.
pub const CORE: u64 = Trap::Core.number() as u64;
/// The reason is a call of trap 0x80 that the fast path does not serve.
pub const FAST: u64 = Trap::Fast.number() as u64;
/// The reason is a fault: the fast path served a call of trap 0x80, and its device access trapped.
pub const FAULTED: u64 = 0x100;
/// How many of the [`WINDOWS`](super::WINDOWS) windows the slow path saves or clears for every call. Each further window costs a trap.
pub const FIRST_WINDOWS: usize = 2;
/// The lowest of the large function numbers. An image serves either all of these numbers or none.
pub const LIMIT: u64 = FunctionSet::LIMIT;
/// The value that `sun4v_load` and `sun4v_store` return if the access fails.
pub const ACCESS_FAULTED: u64 = 1;
/// The status of a software trap that the image does not claim.
pub const EBADTRAP: u64 = HvError::BadTrap.number();

/// Defines offsets in a strand's block: `$base` is the offset of a value, and each constant is the offset of a field of this value.
macro_rules! offsets {
    ($base:expr, $type:ty: $($name:ident = $field:ident),*) => {
        $(pub const $name: usize = $base + offset_of!($type, $field);)*
    };
}

offsets!(0, StrandBlock: FAST_PATH = fast, STACK = stack, PCR = pcr, O0 = registers, O6 = o6, O7 = o7, Y = y);
offsets!(0, StrandBlock: CANSAVE = cansave, CANRESTORE = canrestore, OTHERWIN = otherwin, CLEANWIN = cleanwin);
offsets!(0, StrandBlock: HANDLER = handler, WINDOWS = windows);
offsets!(offset_of!(StrandBlock, served), ServedFunctions<'static>: SERVED_FAST = fast, SERVED_CORE = core, TRACED = traced);
offsets!(offset_of!(StrandBlock, bounds), Bounds: REAL = real, BYTES = bytes, PAGE = page, ENTRY = entry);

/// The registers at a trap that is not a hypercall.
pub const KEPT: usize = offset_of!(StrandBlock, trapped);
/// The distance from the registers at an interrupt to [`KEPT`].
pub const INTERRUPTED: usize = KEPT - offset_of!(StrandBlock, interrupted);
offsets!(KEPT, SavedRegisters: TRAP_CANSAVE = cansave, TRAP_OTHERWIN = otherwin, TRAP_CLEANWIN = cleanwin, TRAP_Y = y);
const FATAL: usize = KEPT + offset_of!(SavedRegisters, fatal);
offsets!(FATAL, FatalTrap: FATAL_TT = tt, FATAL_TPC = tpc, FATAL_TNPC = tnpc, FATAL_TSTATE = tstate, FATAL_TL = tl);
offsets!(FATAL, FatalTrap: FATAL_HTSTATE = htstate);
offsets!(FATAL, FatalTrap: FATAL_CANRESTORE = canrestore, FATAL_GLOBALS = globals, FATAL_WINDOWS = windows);

offsets!(offset_of!(StrandBlock, reports), Reports: REPORTS_NUMBER = number, FRAMES = frames);
offsets!(offset_of!(StrandBlock, reports) + offset_of!(Reports, entries), Report: REPORT_ADDRESS = address, REPORT_TPC = tpc);
offsets!(offset_of!(StrandBlock, reports) + offset_of!(Reports, entries), Report: REPORT_O0 = o0, REPORT_O1 = o1);
pub const REPORT_SHIFT: u32 = size_of::<Report>().trailing_zeros();
pub const FRAME_SIZE: usize = 32;

/// The size of a block, which the boot code multiplies by the strand's number.
pub const BLOCK: usize = size_of::<StrandBlock>();

// Load and store offsets are signed 13-bit numbers.
const _: () = assert!(BLOCK < 1 << 12);

/// The stack size in bytes for each strand except the first, whose stack the linker script defines.
pub const OTHER_STACK: usize = 0x8000;

/// The address of the hypervisor scratchpad register that points to the next store_error's frame.
pub const FRAME: usize = 0x28;

/// The deferred error status register (DFESR): its ASI and its address. The error type is in bits 61:60, and the number of the store's
/// entry in the store buffer is in bits 57:55. A read clears the register.
pub const ASI_DFESR: usize = 0x4c;
pub const DFESR: usize = 8;
pub const ERROR_SHIFT: usize = 60;
pub const ENTRY_SHIFT: usize = 55;

/// The type SBDIOU: the data of a store to a device could not be sent. (2 is SBAPP: the address in the entry cannot be trusted.)
pub const SBDIOU: usize = 1;

/// Diagnostic reads of the store buffer: their ASI, and the address for entry 0. A read returns the entry's physical address in bits 39:0.
/// The entry number is in bits 5:3 of the address.
pub const ASI_STORE_BUFFER: usize = 0x4a;
pub const STORE_BUFFER: usize = 0xc0;
pub const ADDRESS_BITS: usize = 40;

/// ASI_SCRATCHPAD, which holds the guest's own scratchpad.
pub const ASI_GUEST: usize = 0x20;
/// The register with the strand's own number (ASI_CMP_CORE_ID): its ASI, its address, and the mask of the number.
pub const ASI_OWN_NUMBER: usize = 0x63;
pub const OWN_NUMBER: usize = 0x10;
pub const NUMBERS: usize = 0xff;

/// The tag access registers, which hold the address of a miss: their ASIs, and their address.
pub const TAG_ACCESS_FETCH: usize = 0x50;
pub const TAG_ACCESS_DATA: usize = 0x58;
pub const TAG_ACCESS: usize = 0x30;

/// The registers that load an entry of a TLB: their ASIs, and the address for a real translation in sun4v format.
pub const DATA_IN_FETCH: usize = 0x54;
pub const DATA_IN_DATA: usize = 0x5c;
pub const DATA_IN: usize = 0x600;

pub use super::reports::REPORTS;
pub use super::{MAXGL, NWINDOWS, PSTATE, STACK_BIAS as BIAS};

/// The two halves of [`super::SCRATCHPAD`].
pub const ASI: usize = super::SCRATCHPAD.0;
pub const SCRATCHPAD: usize = super::SCRATCHPAD.1;

/// The lowest bit of GL in %tstate.
pub const GL_SHIFT: usize = super::fatal::GL_SHIFT;
/// `wrhpr %g1, %htba`
pub const SET_HTBA: u32 = super::wrhpr(1, 0, 5);
/// `wrhpr 0, %htstate`
pub const CLEAR_HTSTATE: u32 = super::wrhpr(0, 0, 1);
/// `rdhpr %htstate, %g3`
pub const READ_HTSTATE_G3: u32 = 2 << 30 | 3 << 25 | 0x29 << 19 | 1 << 14;
/// HTSTATE.HPRIV: the interrupted code is the hypervisor's.
pub const HPRIV: usize = super::fatal::HPRIV as usize;
/// `wrhpr 1, %hintp` makes hstick_match pending; `wrhpr 0, %hintp` makes it not pending.
pub const SET_HINTP: u32 = super::wrhpr(0, 1, 3);
pub const CLEAR_HINTP: u32 = super::wrhpr(0, 0, 3);
/// `wrhpr %o0, %hstick_cmpr`
pub const SET_TIMER: u32 = super::wrhpr(8, 0, 31);
/// `wrhpr 4, %hpstate`: hyperprivileged, RED off.
pub const ENTER_HYPERVISOR: u32 = super::wrhpr(0, 4, 0);
/// `wrhpr 0, %hpstate`
pub const LEAVE_HYPERVISOR: u32 = super::wrhpr(0, 0, 0);
