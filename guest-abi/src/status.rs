//! The statuses that a hypercall returns in %o0 (sun4v specification, "error codes").

use core::fmt;
use core::str::FromStr;

use crate::error::{OutOfRange, UnknownName};

/// The status of a successful call.
#[doc(alias("HV_EOK", "H_EOK"))]
pub const EOK: u64 = 0;

/// The number of an unknown status, which has no name in this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnknownStatus(u64);

macro_rules! statuses {
    ($($name:ident = $number:literal, $c_name:literal, $text:literal;)*) => {
        /// A status other than success. A status without a name is represented by its number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HvError {
            $(
                #[doc = $text]
                #[doc = concat!("(`", $c_name, "`, sun4v specification, \"error codes\")")]
                #[doc(alias = $c_name)]
                $name,
            )*
            /// A status that has no name in this crate.
            Unknown(UnknownStatus),
        }

        impl HvError {
            /// All statuses that have a name, in the order of their numbers.
            pub const NAMED: &'static [Self] = &[$(Self::$name),*];

            /// Returns the number in %o0, which is never 0.
            pub const fn number(self) -> u64 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Unknown(UnknownStatus(number)) => number,
                }
            }

            /// Returns `Ok` if `status`, from %o0, is 0; otherwise the error with this number.
            #[inline]
            pub const fn check(status: u64) -> Result<(), Self> {
                match status {
                    EOK => Ok(()),
                    error => Err(Self::from_nonzero(error)),
                }
            }

            #[cold]
            const fn from_nonzero(error: u64) -> Self {
                match error {
                    $($number => Self::$name,)*
                    other => Self::Unknown(UnknownStatus(other)),
                }
            }

            /// Returns a one-line description of the status.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Unknown(_) => "Not a status of the specification.",
                }
            }

            /// Returns the status's name in the specification; `None` for [`Unknown`](Self::Unknown).
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($c_name),)*
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

statuses! {
    NoCpu = 1, "ENOCPU", "Invalid CPU id.";
    NoRealAddress = 2, "ENORADDR", "Invalid real address.";
    NoInterrupt = 3, "ENOINTR", "Invalid interrupt id.";
    BadPageSize = 4, "EBADPGSZ", "Invalid page size encoding.";
    BadTsb = 5, "EBADTSB", "Invalid TSB description.";
    Invalid = 6, "EINVAL", "Invalid argument: for group 0x205, a PerfReg beyond 89.";
    BadTrap = 7, "EBADTRAP", "The function number is invalid, or its group is not negotiated.";
    BadAlignment = 8, "EBADALIGN", "Invalid address alignment.";
    WouldBlock = 9, "EWOULDBLOCK", "The call cannot complete without blocking. Nothing was done; try again.";
    NoAccess = 10, "ENOACCESS",
        "The guest may not do this: for group 0x205, it has no right to the register, or the unit is out of service.";
    Io = 11, "EIO", "Input or output failed.";
    CpuError = 12, "ECPUERROR", "The CPU is in an error state.";
    NotSupported = 13, "ENOTSUPPORTED",
        "Not supported: for group 0x205, a register that this version or machine does not have.";
    NoMap = 14, "ENOMAP", "No mapping found.";
    TooMany = 15, "ETOOMANY", "Too many items.";
    Channel = 16, "ECHANNEL", "Invalid LDC channel.";
    Busy = 17, "EBUSY", "The resource is busy.";
    Unavailable = 23, "EUNAVAILABLE", "The resource is unavailable.";
}

impl fmt::Display for HvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "status {}", self.number()),
        }
    }
}

impl core::error::Error for HvError {}

/// Parses the name that the specification gives to a status. Upper and lower case are equivalent.
impl FromStr for HvError {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let is = |error: &Self| error.name().is_some_and(|name| name.eq_ignore_ascii_case(text));
        Self::NAMED.iter().copied().find(is).ok_or(UnknownName::new("status"))
    }
}

/// Fails for 0, which is success.
impl TryFrom<u64> for HvError {
    type Error = OutOfRange;

    fn try_from(status: u64) -> Result<Self, OutOfRange> {
        Self::check(status).err().ok_or(OutOfRange::new("status", status, 1, u64::MAX))
    }
}
