//! Numbers that cross the trap.

/// What a call answers in %o0 (sun4v specification, "error codes"). A hypervisor may answer others.
#[repr(C)]
pub enum sun4v_status {
    /// Success.
    SUN4V_EOK = 0,
    /// Invalid CPU id.
    SUN4V_ENOCPU = 1,
    /// Invalid real address.
    SUN4V_ENORADDR = 2,
    /// Invalid interrupt id.
    SUN4V_ENOINTR = 3,
    /// Invalid page size encoding.
    SUN4V_EBADPGSZ = 4,
    /// Invalid TSB description.
    SUN4V_EBADTSB = 5,
    /// Invalid argument: for group 0x205, a PerfReg beyond 89.
    SUN4V_EINVAL = 6,
    /// Invalid function number, or its group is not negotiated.
    SUN4V_EBADTRAP = 7,
    /// Invalid address alignment.
    SUN4V_EBADALIGN = 8,
    /// The call cannot complete without blocking. Nothing was done; try again.
    SUN4V_EWOULDBLOCK = 9,
    /// The guest may not do this.
    SUN4V_ENOACCESS = 10,
    /// Input or output failed.
    SUN4V_EIO = 11,
    /// The CPU is in an error state.
    SUN4V_ECPUERROR = 12,
    /// Not supported: for group 0x205, a register that this version or machine does not have.
    SUN4V_ENOTSUPPORTED = 13,
    /// No mapping found.
    SUN4V_ENOMAP = 14,
    /// Too many items.
    SUN4V_ETOOMANY = 15,
    /// Invalid LDC channel.
    SUN4V_ECHANNEL = 16,
    /// The resource is busy.
    SUN4V_EBUSY = 17,
    /// The resource is unavailable.
    SUN4V_EUNAVAILABLE = 23,
}
/// `ta 0x80`: hypercalls of the API groups.
pub const SUN4V_FAST_TRAP: u64 = 0x80_u64;
/// `ta 0xff`: calls that exist whatever has been negotiated.
pub const SUN4V_CORE_TRAP: u64 = 0xff_u64;

/// FAST_TRAP: reads a performance register (FWARC/2007/529 section 3.2.1).
pub const SUN4V_VFALLS_GET_PERFREG: u64 = 0x106_u64;
/// FAST_TRAP: writes a performance register (FWARC/2007/529 section 3.2.2).
pub const SUN4V_VFALLS_SET_PERFREG: u64 = 0x107_u64;

/// CORE_TRAP: negotiates an API group.
pub const SUN4V_API_SET_VERSION: u64 = 0;
/// CORE_TRAP: writes a character to the console.
pub const SUN4V_CONS_PUTCHAR: u64 = 1;
/// CORE_TRAP: stops the guest.
pub const SUN4V_EXIT: u64 = 2;
/// CORE_TRAP: what a group is negotiated to.
pub const SUN4V_API_GET_VERSION: u64 = 3;

/// The API group of the sun4v architecture itself.
pub const SUN4V_GROUP_SUN4V: u64 = 0x0_u64;
/// The API group of the calls that every guest has.
pub const SUN4V_GROUP_CORE: u64 = 0x1_u64;
/// The API group of the Victoria Falls performance counters: version 1.0 has registers 0 to 17, 1.1 all 90.
pub const SUN4V_GROUP_VFALLS: u64 = 0x205_u64;

/// How many performance registers there are.
pub const SUN4V_PERF_REGS: u64 = 90;
/// How many units there are, on the largest machine.
pub const SUN4V_UNITS: u32 = 32;
/// No register: what a unit that does not exist has.
pub const SUN4V_NO_REG: u64 = 0xffff_ffff_ffff_ffff_u64;
