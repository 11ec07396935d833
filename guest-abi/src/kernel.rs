//! What a kernel calls beside the performance counters: numbers of functions of trap 0x80, and of API groups (sun4v specification,
//! "function numbers").

use crate::group::ApiGroup;

macro_rules! functions {
    ($(#[doc = $text:literal] #[doc(alias = $c_name:literal)] $name:ident = $number:literal;)*) => {
        $(
            #[doc = $text]
            #[doc(alias = $c_name)]
            pub const $name: u64 = $number;
        )*

        /// Every function: its name, its number and what it does.
        pub const FUNCTIONS: &[(&str, u64, &str)] = &[$((stringify!($name), $number, $text.trim_ascii())),*];
    };
}

functions! {
    /// Ends the guest with the code in %o0. Does not return.
    #[doc(alias = "HV_FAST_MACH_EXIT")]
    MACH_EXIT = 0x00;
    /// Copies the machine description to real address %o0, with room for %o1 bytes. Returns its size, even if it is EINVAL for want of room.
    #[doc(alias = "HV_FAST_MACH_DESC")]
    MACH_DESC = 0x01;
    /// Starts CPU %o0 at real address %o1, with %tba %o2 and %o0 = %o3.
    #[doc(alias = "HV_FAST_CPU_START")]
    CPU_START = 0x10;
    /// Stops CPU %o0, which is not the caller.
    #[doc(alias = "HV_FAST_CPU_STOP")]
    CPU_STOP = 0x11;
    /// Returns when an interrupt is pending for the caller, or earlier.
    #[doc(alias = "HV_FAST_CPU_YIELD")]
    CPU_YIELD = 0x12;
    /// Puts interrupt queue %o0 at real address %o1, with %o2 entries.
    #[doc(alias = "HV_FAST_CPU_QCONF")]
    CPU_QCONF = 0x14;
    /// Returns the number of the caller's CPU.
    #[doc(alias = "HV_FAST_CPU_MYID")]
    CPU_MYID = 0x16;
    /// Returns the state of CPU %o0: 1 stopped, 2 running, 3 failed.
    #[doc(alias = "HV_FAST_CPU_STATE")]
    CPU_STATE = 0x17;
    /// Returns the seconds since 1970-01-01 00:00:00 UTC.
    #[doc(alias = "HV_FAST_TOD_GET")]
    TOD_GET = 0x50;
    /// Returns a byte of the console, -1 for a break, -2 for a hang-up.
    #[doc(alias = "HV_FAST_CONS_GETCHAR")]
    CONS_GETCHAR = 0x60;
    /// Sends the byte in %o0 to the console; -1 is a break.
    #[doc(alias = "HV_FAST_CONS_PUTCHAR")]
    CONS_PUTCHAR = 0x61;
    /// Sends %o1 bytes from real address %o0 to the console. Returns how many were sent.
    #[doc(alias = "HV_FAST_CONS_WRITE")]
    CONS_WRITE = 0x63;
    /// Sets the soft state to %o0, with the 32 bytes of text at real address %o1.
    #[doc(alias = "HV_FAST_MACH_SET_SOFT_STATE")]
    SOFT_STATE_SET = 0x70;
    /// Returns the soft state, and its text at real address %o0.
    #[doc(alias = "HV_FAST_MACH_GET_SOFT_STATE")]
    SOFT_STATE_GET = 0x71;
    /// Returns the physical address of a real one, where it is allowed.
    #[doc(alias = "DIAG_RA_TO_PA")]
    DIAG_RA2PA = 0x200;
    /// Executes code in hyperprivileged mode, where it is allowed.
    #[doc(alias = "DIAG_HYPER_EXEC")]
    DIAG_HEXEC = 0x201;
}

/// The soft state of guests.
#[doc(alias = "HV_GRP_SOFT_STATE")]
pub const SOFT_STATE_GROUP: ApiGroup = ApiGroup(3);
/// Diagnosis.
#[doc(alias = "HV_GRP_DIAG")]
pub const DIAG_GROUP: ApiGroup = ApiGroup(0x300);
