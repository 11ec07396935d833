//! Where things are, for the assembly: offsets in a [`StrandBlock`], and numbers.
#![doc(hidden)]

use core::mem::offset_of;

use super::{Call, StrandBlock};

pub const GET: u64 = guest_abi::trap::VFALLS_GET_PERFREG;
pub const SET: u64 = guest_abi::trap::VFALLS_SET_PERFREG;

/// Registers from this on are those of hubs.
pub const FIRST_OF_HUB: u64 = guest_abi::PerfReg::FIRST_OF_HUBS.id();
pub const CORE: u64 = Call::Core as u64;

pub const SEAT: usize = offset_of!(StrandBlock, seat);
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

const _: () = assert!(Call::Fast as u64 == 0);
