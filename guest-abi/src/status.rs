//! The statuses that a hypercall returns in %o0 (sun4v specification, "error codes").

use core::fmt;

/// Success.
#[doc(alias = "HV_EOK")]
#[doc(alias = "H_EOK")]
pub const EOK: u64 = 0;

/// The number of a status that this crate has no name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnknownStatus(u64);

macro_rules! statuses {
    ($(#[doc = $text:literal] $name:ident = $number:literal, $c_name:literal;)*) => {
        /// A status other than success. A status that has no name here keeps its number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HvError {
            $(
                #[doc = $text]
                #[doc = concat!("(`", $c_name, "`, sun4v specification, \"error codes\")")]
                #[doc(alias = $c_name)]
                $name,
            )*
            /// Any other status.
            Unknown(UnknownStatus),
        }

        impl HvError {
            /// Every status that has a name.
            pub const NAMED: &'static [Self] = &[$(Self::$name),*];

            /// Returns the number in %o0, which is never 0.
            pub const fn number(self) -> u64 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Unknown(UnknownStatus(number)) => number,
                }
            }

            /// Returns `Ok` if the number in %o0 is 0, else the error with this number.
            #[inline]
            pub const fn check(status: u64) -> Result<(), Self> {
                match status {
                    EOK => Ok(()),
                    error => Err(Self::numbered(error)),
                }
            }

            #[cold]
            const fn numbered(error: u64) -> Self {
                match error {
                    $($number => Self::$name,)*
                    other => Self::Unknown(UnknownStatus(other)),
                }
            }

            /// Returns one line that says what the status means.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$name => $text.trim_ascii(),)*
                    Self::Unknown(_) => "Not a status of the specification.",
                }
            }

            /// Returns the specification's name; `None` for [`Unknown`](Self::Unknown).
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
    /// Invalid CPU id.
    NoCpu = 1, "ENOCPU";
    /// Invalid real address.
    NoRealAddress = 2, "ENORADDR";
    /// Invalid interrupt id.
    NoInterrupt = 3, "ENOINTR";
    /// Invalid page size encoding.
    BadPageSize = 4, "EBADPGSZ";
    /// Invalid TSB description.
    BadTsb = 5, "EBADTSB";
    /// Invalid argument: for group 0x205, a PerfReg beyond 89.
    Invalid = 6, "EINVAL";
    /// The function number is invalid, or its group is not negotiated.
    BadTrap = 7, "EBADTRAP";
    /// Invalid address alignment.
    BadAlignment = 8, "EBADALIGN";
    /// The call cannot complete without blocking. Nothing was done; try again.
    WouldBlock = 9, "EWOULDBLOCK";
    /// The guest may not do this: for group 0x205, it has no right to the register, or the unit is out of service.
    NoAccess = 10, "ENOACCESS";
    /// Input or output failed.
    Io = 11, "EIO";
    /// The CPU is in an error state.
    CpuError = 12, "ECPUERROR";
    /// Not supported: for group 0x205, a register that this version or machine does not have.
    NotSupported = 13, "ENOTSUPPORTED";
    /// No mapping found.
    NoMap = 14, "ENOMAP";
    /// Too many items.
    TooMany = 15, "ETOOMANY";
    /// Invalid LDC channel.
    Channel = 16, "ECHANNEL";
    /// The resource is busy.
    Busy = 17, "EBUSY";
    /// The resource is unavailable.
    Unavailable = 23, "EUNAVAILABLE";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_specification() {
        let expected = [
            ("ENOCPU", 1),
            ("ENORADDR", 2),
            ("ENOINTR", 3),
            ("EBADPGSZ", 4),
            ("EBADTSB", 5),
            ("EINVAL", 6),
            ("EBADTRAP", 7),
            ("EBADALIGN", 8),
            ("EWOULDBLOCK", 9),
            ("ENOACCESS", 10),
            ("EIO", 11),
            ("ECPUERROR", 12),
            ("ENOTSUPPORTED", 13),
            ("ENOMAP", 14),
            ("ETOOMANY", 15),
            ("ECHANNEL", 16),
            ("EBUSY", 17),
            ("EUNAVAILABLE", 23),
        ];
        assert_eq!(HvError::NAMED.len(), expected.len());
        for (error, (name, number)) in HvError::NAMED.iter().zip(expected) {
            assert_eq!((error.name(), error.number()), (Some(name), number));
            assert_eq!(HvError::check(number), Err(*error));
        }
    }

    #[test]
    fn no_status_is_lost() {
        assert_eq!(HvError::check(0), Ok(()));
        for number in [18, 22, 24, 0x1_0000_0006, u64::MAX] {
            let error = HvError::check(number).unwrap_err();
            assert_eq!((error.number(), error.name()), (number, None));
        }
    }
}
