//! A macro for errors whose message is one format string.

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
