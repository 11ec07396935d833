//! The trap 0x80 functions and API groups that a kernel needs besides group 0x205 (sun4v specification, "function numbers").

use crate::group::ApiGroup;

macro_rules! functions {
    ($($name:ident = $number:literal, $c_name:literal, $text:literal;)*) => {
        $(
            #[doc = $text]
            #[doc(alias = $c_name)]
            pub const $name: u64 = $number;
        )*

        /// The name, number and effect of every function.
        pub const FUNCTIONS: &[(&str, u64, &str)] = &[$((stringify!($name), $number, $text)),*];
    };
}

functions! {
    MACH_EXIT = 0x00, "HV_FAST_MACH_EXIT", "Ends the guest with the code in %o0. Does not return.";
    MACH_DESC = 0x01, "HV_FAST_MACH_DESC",
        "Copies the machine description to real address %o0, a buffer of %o1 bytes. Returns its size, also with EINVAL for a short buffer.";
    CPU_START = 0x10, "HV_FAST_CPU_START", "Starts CPU %o0 at real address %o1, with %o2 in its %tba and %o3 in its %o0.";
    CPU_STOP = 0x11, "HV_FAST_CPU_STOP", "Stops CPU %o0, which must not be the caller.";
    CPU_YIELD = 0x12, "HV_FAST_CPU_YIELD", "Returns when an interrupt is pending for the caller, or earlier.";
    CPU_QCONF = 0x14, "HV_FAST_CPU_QCONF", "Puts interrupt queue %o0 at real address %o1, with %o2 entries.";
    CPU_MYID = 0x16, "HV_FAST_CPU_MYID", "Returns the number of the caller's CPU.";
    CPU_STATE = 0x17, "HV_FAST_CPU_STATE", "Returns the state of CPU %o0: 1 stopped, 2 running, 3 failed.";
    TOD_GET = 0x50, "HV_FAST_TOD_GET", "Returns the seconds since 1970-01-01 00:00:00 UTC.";
    TOD_SET = 0x51, "HV_FAST_TOD_SET", "Sets the guest's own time to %o0 seconds since 1970-01-01 00:00:00 UTC.";
    CONS_GETCHAR = 0x60, "HV_FAST_CONS_GETCHAR", "Returns a byte of the console, -1 for a break, -2 for a hang-up.";
    CONS_PUTCHAR = 0x61, "HV_FAST_CONS_PUTCHAR", "Sends the byte in %o0 to the console; -1 is a break.";
    CONS_WRITE = 0x63, "HV_FAST_CONS_WRITE", "Sends %o1 bytes from real address %o0 to the console. Returns the number of bytes sent.";
    SOFT_STATE_SET = 0x70, "HV_FAST_MACH_SET_SOFT_STATE", "Sets the soft state to %o0, with the 32 bytes of text at real address %o1.";
    SOFT_STATE_GET = 0x71, "HV_FAST_MACH_GET_SOFT_STATE", "Returns the soft state, and stores its text at real address %o0.";
    DIAG_RA2PA = 0x200, "DIAG_RA_TO_PA", "Returns the physical address of a real address. For guests that may use group 0x300.";
    DIAG_HEXEC = 0x201, "DIAG_HYPER_EXEC", "Executes code in hyperprivileged mode. For guests that may use group 0x300.";
}

/// The soft state, through which a guest reports its progress to the operator.
#[doc(alias = "HV_GRP_SOFT_STATE")]
pub const SOFT_STATE_GROUP: ApiGroup = ApiGroup(3);
/// Diagnosis: physical addresses, and execution of code in hyperprivileged mode.
#[doc(alias = "HV_GRP_DIAG")]
pub const DIAG_GROUP: ApiGroup = ApiGroup(0x300);
