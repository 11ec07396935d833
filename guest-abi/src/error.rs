//! Errors that many types share, and macros for conversions that return these errors.

/// Implements `Display` and `Error` for a type: `error_text!(Type, |error| "format", arguments)`.
macro_rules! error_text {
    ($type:ty, |$error:pat_param| $($text:tt)*) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $error = self;
                write!(f, $($text)*)
            }
        }

        impl core::error::Error for $type {}
    };
}
pub(crate) use error_text;

/// The error for a number that is out of a type's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutOfRange {
    what: &'static str,
    value: u64,
    min: u64,
    max: u64,
}

impl OutOfRange {
    pub(crate) const fn new(what: &'static str, value: u64, min: u64, max: u64) -> Self {
        Self { what, value, min, max }
    }

    /// Returns the number that is out of range.
    pub const fn value(&self) -> u64 {
        self.value
    }
}

error_text!(
    OutOfRange,
    |error| "{} {}: expected {} to {}",
    error.what,
    error.value,
    error.min,
    error.max
);

/// The error for a text that is not the name of any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnknownName {
    what: &'static str,
}

impl UnknownName {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what }
    }
}

error_text!(UnknownName, |error| "no {} has this name", error.what);

/// Implements `TryFrom` for a type whose function `new` accepts the numbers in a range.
macro_rules! in_range {
    ($type:ty, $number:ty, $what:literal, $min:expr, $max:expr) => {
        impl TryFrom<$number> for $type {
            type Error = $crate::error::OutOfRange;

            fn try_from(number: $number) -> Result<Self, $crate::error::OutOfRange> {
                let error =
                    $crate::error::OutOfRange::new($what, number as u64, $min as u64, $max as u64);
                Self::new(number).ok_or(error)
            }
        }
    };
}
pub(crate) use in_range;

/// Implements conversions between values and names, for a type that lists its values in `ALL`.
macro_rules! named {
    ($type:ty, $what:literal, $name:ident) => {
        impl $type {
            /// Returns the value with this name, in upper or lower case; `None` if no value has this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.$name().eq_ignore_ascii_case(name))
            }
        }

        impl core::str::FromStr for $type {
            type Err = $crate::error::UnknownName;

            fn from_str(name: &str) -> Result<Self, $crate::error::UnknownName> {
                Self::from_name(name).ok_or(const { $crate::error::UnknownName::new($what) })
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.$name())
            }
        }
    };
}
pub(crate) use named;
