//! Where things are, for the assembly: offsets in a strand's block, and numbers.
#![doc(hidden)]

use core::mem::offset_of;

use super::entry::Entry;

type StrandBlock = super::StrandBlock<()>;

pub const CORE: u64 = Entry::Core as u64;
pub const FAST: u64 = Entry::Fast as u64;
pub const FAULTED: u64 = Entry::Faulted as u64;

pub const CONTEXT: usize = offset_of!(StrandBlock, context);
pub const STACK: usize = offset_of!(StrandBlock, stack);
pub const PCR: usize = offset_of!(StrandBlock, pcr);
pub const O0: usize = offset_of!(StrandBlock, registers);
pub const O6: usize = offset_of!(StrandBlock, o6);
pub const O7: usize = offset_of!(StrandBlock, o7);
pub const Y: usize = offset_of!(StrandBlock, y);
pub const CANSAVE: usize = offset_of!(StrandBlock, cansave);
pub const CANRESTORE: usize = offset_of!(StrandBlock, canrestore);
pub const OTHERWIN: usize = offset_of!(StrandBlock, otherwin);
pub const CLEANWIN: usize = offset_of!(StrandBlock, cleanwin);
pub const WINDOWS: usize = offset_of!(StrandBlock, windows);

/// `wrhpr %g1, %htba`
pub const SET_HTBA: u32 = super::wrhpr(1, 0, 5);
/// `wrhpr 4, %hpstate`: hyperprivileged, RED off.
pub const ENTER_HYPERVISOR: u32 = super::wrhpr(0, 4, 0);
/// `wrhpr 0, %hpstate`
pub const LEAVE_HYPERVISOR: u32 = super::wrhpr(0, 0, 0);
