//! The numbers of software traps and functions, and the registers that hold a call's arguments and results (sun4v specification, "hypercall
//! conventions").

use core::mem::offset_of;

/// The two software traps with which a guest calls the hypervisor. The traps between them, 0x81 to 0xfe, return EBADTRAP unless the
/// hypervisor serves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trap {
    /// `ta 0x80`: hypercalls of the API groups (sun4v specification, "hypercall conventions").
    #[doc(alias = "FAST_TRAP")]
    Fast,
    /// `ta 0xff`: the few calls that need no negotiation (sun4v specification, "hypercall conventions").
    #[doc(alias = "CORE_TRAP")]
    Core,
}

impl Trap {
    /// Returns the operand of the `ta` instruction.
    pub const fn number(self) -> u8 {
        match self {
            Self::Fast => 0x80,
            Self::Core => 0xff,
        }
    }
}

macro_rules! perf_functions {
    ($($variant:ident $name:ident = $number:literal, $c_name:literal, $effect:literal, $section:literal, $registers:literal;)*) => {
        $(
            #[doc = concat!($effect, ": ", $registers, " (", $section, ").")]
            #[doc(alias = $c_name)]
            pub const $name: u64 = $number;
        )*

        /// A FAST function that accesses performance registers. Each API group has its own functions, and its own numbers for the
        /// registers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "their numbers have the same names")]
        pub enum PerfFunction {
            $($variant,)*
        }

        impl PerfFunction {
            /// All functions of the API group, in the order of this enum.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the function with this number; `None` if no variant has this number.
            pub const fn from_number(number: u64) -> Option<Self> {
                match number {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the number, which a call passes in %o5.
            pub const fn number(self) -> u64 {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the name of the constant for the number, such as `VFALLS_GET_PERFREG`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($name),)*
                }
            }

            /// Returns a sentence that describes the function's effect and names the section of the specification.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($effect, " (", $section, ")."),)*
                }
            }
        }
    };
}

perf_functions! {
    VfallsGet VFALLS_GET_PERFREG = 0x106, "HV_VFALLS_GETPERF", "Reads a performance register",
        "FWARC/2007/529 section 3.2.1", "PerfReg in %o0; status in %o0, value in %o1";
    VfallsSet VFALLS_SET_PERFREG = 0x107, "HV_VFALLS_SETPERF", "Writes a performance register",
        "FWARC/2007/529 section 3.2.2", "PerfReg in %o0, value in %o1; status in %o0";
}

/// CORE: negotiates an API group. Group in %o0, major in %o1, minor in %o2; status in %o0, granted minor in %o1 (sun4v
/// specification, "API versioning").
#[doc(alias = "HV_CORE_SET_VER")]
pub const API_SET_VERSION: u64 = 0;

/// CORE: writes the character in %o0 (0 to 255) to the guest's console, or sends a [break](CONS_BREAK); status in %o0 (sun4v
/// specification, "core services").
#[doc(alias("HV_CORE_PUTCHAR", "API_PUTCHAR", "cons_putchar"))]
pub const CONS_PUTCHAR: u64 = 1;

/// The argument of [`CONS_PUTCHAR`] for a break: -1, in 64 bits.
pub const CONS_BREAK: u64 = u64::MAX;

/// CORE: stops the guest, with the code in %o0. Does not return (sun4v specification, "core services").
#[doc(alias("HV_CORE_EXIT", "API_EXIT"))]
pub const EXIT: u64 = 2;

/// CORE: returns the negotiated version of an API group. Group in %o0; status in %o0, major in %o1, minor in %o2, both 0 if
/// the group is not negotiated (sun4v specification, "API versioning").
#[doc(alias = "HV_CORE_GET_VER")]
pub const API_GET_VERSION: u64 = 3;

/// %o0 to %o5 at a trap. A call takes its function number in %o5 and its arguments from %o0 on. It returns a status in %o0 and
/// values from %o1 on, and changes no other register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Registers {
    /// %o0: first argument, then the status.
    pub o0: u64,
    /// %o1: second argument, then the first value.
    pub o1: u64,
    /// %o2: third argument, then the second value.
    pub o2: u64,
    /// %o3: fourth argument.
    pub o3: u64,
    /// %o4: fifth argument.
    pub o4: u64,
    /// %o5: the function number.
    pub o5: u64,
}

impl Registers {
    /// Returns the registers for a call of `function` with `arguments` in %o0 to %o4.
    pub const fn call(function: u64, arguments: [u64; 5]) -> Self {
        let [o0, o1, o2, o3, o4] = arguments;
        Self::from_array([o0, o1, o2, o3, o4, function])
    }

    /// Returns %o0 to %o5, in order.
    pub const fn to_array(self) -> [u64; 6] {
        [self.o0, self.o1, self.o2, self.o3, self.o4, self.o5]
    }

    const fn from_array([o0, o1, o2, o3, o4, o5]: [u64; 6]) -> Self {
        Self { o0, o1, o2, o3, o4, o5 }
    }
}

// Trap entries store the registers in this order, without gaps.
const _: () = assert!(size_of::<Registers>() == 6 * 8 && offset_of!(Registers, o5) == 5 * 8);

impl From<[u64; 6]> for Registers {
    fn from(registers: [u64; 6]) -> Self {
        Self::from_array(registers)
    }
}
