//! API groups and their versions (sun4v specification, "API versioning"; FWARC/2007/529 section 3.2).

use core::fmt;
use core::str::FromStr;

use crate::error::UnknownName;

/// An API group's number: any 64-bit value, because a guest can pass any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiGroup(pub u64);

macro_rules! groups {
    ($($name:ident = $number:literal, $c_names:tt, $text:literal;)*) => {
        impl ApiGroup {
            $(
                #[doc = $text]
                #[doc(alias $c_names)]
                pub const $name: Self = Self($number);
            )*

            /// The API groups that the clients in this crate use. Each entry holds the group's name, number and contents.
            pub const NAMED: &'static [(&'static str, Self, &'static str)] =
                &[$((stringify!($name), Self::$name, $text)),*];
        }
    };
}

groups! {
    SUN4V = 0, ("HV_GRP_SUN4V", "HSVC_GROUP_SUN4V"),
        "The sun4v architecture itself. Its major version is always 1 (sun4v specification, \"API versioning\").";
    CORE = 1, ("HV_GRP_CORE", "HSVC_GROUP_CORE"),
        "The calls that every guest has (sun4v specification, \"API versioning\").";
    VFALLS = 0x205, ("HV_GRP_VF_CPU", "HSVC_GROUP_VFALLS_CPU"),
        "Victoria Falls performance counters: registers 0 to 17 in version 1.0 (FWARC/2007/237), all 90 in 1.1 (FWARC/2007/529).";
}

impl fmt::Display for ApiGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A version of an API group. Versions with different major numbers are incompatible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major number; 0 stands for "not negotiated".
    pub major: u64,
    /// A higher minor number only adds calls and registers.
    pub minor: u64,
}

impl Version {
    /// 0.0, which stands for "not negotiated".
    pub const NONE: Self = Self::new(0, 0);

    /// 1.0 (FWARC/2007/237).
    pub const V1_0: Self = Self::new(1, 0);

    /// 1.1 (FWARC/2007/529 section 3.2).
    pub const V1_1: Self = Self::new(1, 1);

    /// Returns version `major.minor`, without any check.
    pub const fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }
}

/// Parses a decimal `major.minor`, such as `1.1`.
impl FromStr for Version {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self::new(major.parse().ok()?, minor.parse().ok()?)))
            .ok_or(UnknownName::new("version"))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
