//! Where things are, for the assembly: offsets in a strand's block, and numbers.
#![doc(hidden)]

use core::mem::offset_of;

use guest_abi::{FunctionSet, HvError, Served, Trap};

use super::FatalTrap;
use super::block::Kept;
use super::guest::Bounds;

type StrandBlock = super::StrandBlock<()>;

// A veneer leaves in %g5 how a call comes to the slow path: the number of its trap, or FAULTED.

/// Trap 0xff.
pub const CORE: u64 = Trap::Core.number() as u64;
/// Trap 0x80.
pub const FAST: u64 = Trap::Fast.number() as u64;
/// Trap 0x80, for which the fast path made a device access that faulted.
pub const FAULTED: u64 = 0x100;

/// How many of the [`WINDOWS`](super::WINDOWS) the slow path keeps or clears for every call. Each of the others takes a trap when
/// Rust code first saves it.
pub const FIRST_WINDOWS: usize = 2;

/// The number from which on functions are served all or none.
pub const LIMIT: u64 = FunctionSet::LIMIT;

/// What `sun4v_load` and `sun4v_store` return if the access fails.
pub const ACCESS_FAULTED: u64 = 1;

/// The status of a software trap that nobody claims.
pub const EBADTRAP: u64 = HvError::BadTrap.number();

pub const FAST_PATH: usize = offset_of!(StrandBlock, fast);
pub const HANDLER: usize = offset_of!(StrandBlock, handler);
pub const STACK: usize = offset_of!(StrandBlock, stack);
pub const PCR: usize = offset_of!(StrandBlock, pcr);
pub const SERVED_FAST: usize = offset_of!(StrandBlock, served) + offset_of!(Served<'static>, fast);
pub const SERVED_CORE: usize = offset_of!(StrandBlock, served) + offset_of!(Served<'static>, core);
pub const TRACED: usize = offset_of!(StrandBlock, served) + offset_of!(Served<'static>, traced);
pub const O0: usize = offset_of!(StrandBlock, registers);
pub const O6: usize = offset_of!(StrandBlock, o6);
pub const O7: usize = offset_of!(StrandBlock, o7);
pub const Y: usize = offset_of!(StrandBlock, y);
pub const CANSAVE: usize = offset_of!(StrandBlock, cansave);
pub const CANRESTORE: usize = offset_of!(StrandBlock, canrestore);
pub const OTHERWIN: usize = offset_of!(StrandBlock, otherwin);
pub const CLEANWIN: usize = offset_of!(StrandBlock, cleanwin);
pub const WINDOWS: usize = offset_of!(StrandBlock, windows);
/// Where the guest's memory is, for misses of the translation.
pub const REAL: usize = offset_of!(StrandBlock, bounds) + offset_of!(Bounds, real);
pub const BYTES: usize = offset_of!(StrandBlock, bounds) + offset_of!(Bounds, bytes);
pub const PAGE: usize = offset_of!(StrandBlock, bounds) + offset_of!(Bounds, page);
pub const ENTRY: usize = offset_of!(StrandBlock, bounds) + offset_of!(Bounds, entry);

/// The registers of a trap that is no hypercall. Those of an interrupt are so much below.
pub const KEPT: usize = offset_of!(StrandBlock, trapped);
pub const INTERRUPTED: usize = KEPT - offset_of!(StrandBlock, interrupted);
pub const TRAP_CANSAVE: usize = KEPT + offset_of!(Kept, cansave);
pub const TRAP_OTHERWIN: usize = KEPT + offset_of!(Kept, otherwin);
pub const TRAP_CLEANWIN: usize = KEPT + offset_of!(Kept, cleanwin);
pub const TRAP_Y: usize = KEPT + offset_of!(Kept, y);
const FATAL: usize = KEPT + offset_of!(Kept, fatal);
pub const FATAL_TT: usize = FATAL + offset_of!(FatalTrap, tt);
pub const FATAL_TPC: usize = FATAL + offset_of!(FatalTrap, tpc);
pub const FATAL_TNPC: usize = FATAL + offset_of!(FatalTrap, tnpc);
pub const FATAL_TSTATE: usize = FATAL + offset_of!(FatalTrap, tstate);
pub const FATAL_TL: usize = FATAL + offset_of!(FatalTrap, tl);
pub const FATAL_CANRESTORE: usize = FATAL + offset_of!(FatalTrap, canrestore);
pub const FATAL_GLOBALS: usize = FATAL + offset_of!(FatalTrap, globals);
pub const FATAL_WINDOWS: usize = FATAL + offset_of!(FatalTrap, windows);

/// The size of a block, which the boot code multiplies by the number of the strand.
pub const BLOCK: usize = size_of::<StrandBlock>();

// The offsets of loads and stores have 13 bits with a sign.
const _: () = assert!(BLOCK < 1 << 12);

/// The stack of a strand but the first, in bytes. The first, which prepares everything, has the one of the linker script.
pub const OTHER_STACK: usize = 0x8000;

/// ASI_SCRATCHPAD, the guest's own.
pub const GUEST_SCRATCHPAD: usize = 0x20;

/// The register with the strand's own number (ASI_CMP_CORE_ID): its space, its address, and the bits that are the number.
pub const OWN_NUMBER: (usize, usize, usize) = (0x63, 0x10, 0xff);

/// The spaces and addresses of the tag access registers, which have the address of a miss, of fetches and data.
pub const TAG_ACCESS: (usize, usize, usize) = (0x50, 0x58, 0x30);
/// The spaces in which an entry of a TLB is loaded, of fetches and data, and the address: a real translation, in the format of sun4v.
pub const DATA_IN: (usize, usize, usize) = (0x54, 0x5c, 0x600);

/// The distance of GL from bit 0 of %tstate.
pub const GL_SHIFT: usize = super::fatal::GL_SHIFT;

/// `wrhpr %g1, %htba`
pub const SET_HTBA: u32 = super::wrhpr(1, 0, 5);
/// `wrhpr 0, %htstate`
pub const CLEAR_HTSTATE: u32 = super::wrhpr(0, 0, 1);
/// `wrhpr 4, %hpstate`: hyperprivileged, RED off.
pub const ENTER_HYPERVISOR: u32 = super::wrhpr(0, 4, 0);
/// `wrhpr 0, %hpstate`
pub const LEAVE_HYPERVISOR: u32 = super::wrhpr(0, 0, 0);
