//! Function numbers of trap 0x80, and group numbers (sun4v specification, "function numbers").

use guest_abi::ApiGroup;

/// Ends the guest with the code in %o0. Does not return.
#[doc(alias = "HV_FAST_MACH_EXIT")]
pub const MACH_EXIT: u64 = 0x00;
/// Copies the guest's machine description to the real address in %o0, which is a multiple of 16; %o1 has room for so many bytes.
/// Returns its size in %o1, with EOK and with EINVAL, which says that there is too little room.
#[doc(alias = "HV_FAST_MACH_DESC")]
pub const MACH_DESC: u64 = 0x01;
/// Starts CPU %o0 at real address %o1, with %tba %o2 and %o0 = %o3.
#[doc(alias = "HV_FAST_CPU_START")]
pub const CPU_START: u64 = 0x10;
/// Stops CPU %o0, which is not the caller.
#[doc(alias = "HV_FAST_CPU_STOP")]
pub const CPU_STOP: u64 = 0x11;
/// Returns when an interrupt is pending for the caller, or earlier.
#[doc(alias = "HV_FAST_CPU_YIELD")]
pub const CPU_YIELD: u64 = 0x12;
/// Puts interrupt queue %o0 at real address %o1, with %o2 entries.
#[doc(alias = "HV_FAST_CPU_QCONF")]
pub const CPU_QCONF: u64 = 0x14;
/// Returns the number of the caller's CPU.
#[doc(alias = "HV_FAST_CPU_MYID")]
pub const CPU_MYID: u64 = 0x16;
/// Returns the [state](crate::CpuState) of CPU %o0.
#[doc(alias = "HV_FAST_CPU_STATE")]
#[doc(alias = "CPU_GET_STATE")]
pub const CPU_STATE: u64 = 0x17;
/// Returns the seconds since 1970-01-01 00:00:00 UTC.
#[doc(alias = "HV_FAST_TOD_GET")]
pub const TOD_GET: u64 = 0x50;
/// Returns a byte of the console, -1 for a break, -2 for a hang-up.
#[doc(alias = "HV_FAST_CONS_GETCHAR")]
pub const CONS_GETCHAR: u64 = 0x60;
/// Sends the byte in %o0 to the console; -1 is a break.
#[doc(alias = "HV_FAST_CONS_PUTCHAR")]
pub const CONS_PUTCHAR: u64 = 0x61;
/// Sends %o1 bytes from real address %o0 to the console. Returns how many were sent.
#[doc(alias = "HV_FAST_CONS_WRITE")]
pub const CONS_WRITE: u64 = 0x63;
/// Sets the soft state to %o0, with the 32 bytes of text at real address %o1.
#[doc(alias = "HV_FAST_MACH_SET_SOFT_STATE")]
pub const SOFT_STATE_SET: u64 = 0x70;
/// Returns the soft state, and its text at real address %o0.
#[doc(alias = "HV_FAST_MACH_GET_SOFT_STATE")]
pub const SOFT_STATE_GET: u64 = 0x71;
/// Returns the physical address of a real one, where it is allowed.
pub const DIAG_RA2PA: u64 = 0x200;
/// Executes code in hyperprivileged mode, where it is allowed.
pub const DIAG_HEXEC: u64 = 0x201;

/// The soft state of guests.
#[doc(alias = "HV_GRP_SOFT_STATE")]
pub const SOFT_STATE_GROUP: ApiGroup = ApiGroup(3);
/// Diagnosis.
#[doc(alias = "HV_GRP_DIAG")]
pub const DIAG_GROUP: ApiGroup = ApiGroup(0x300);

/// The queue of cross-calls between CPUs of a guest, and the last queue, that of errors that cannot be resumed.
pub(crate) const QUEUES: core::ops::RangeInclusive<u64> = 0x3c..=0x3f;
