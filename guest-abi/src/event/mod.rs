//! What can be counted, by the names that `busstat` and `cpustat` users know.
//!
//! The hardware fixes the events, so their enumerations do not grow: a model can match all of them.

mod dram;
mod hub;
mod sparc;

pub use dram::DramEvent;
pub use hub::{AsuEvent, GpdEvent, LpuEvent};
pub use sparc::SparcEvent;

macro_rules! events {
    ($(#[$doc:meta])* $type:ident: $code:ty { $(#[doc = $text:literal] $event:ident = $number:literal, $name:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($code)]
        pub enum $type { $(#[doc = $text] #[doc(alias = $name)] $event = $number,)* }

        impl $type {
            /// All events, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];

            /// The code in the select field.
            pub const fn code(self) -> $code {
                self as $code
            }

            /// The event with this code; `None` for one that is reserved.
            pub const fn from_code(code: $code) -> Option<Self> {
                match code { $($number => Some(Self::$event),)* _ => None }
            }

            /// The event's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }

            /// Returns one line that says what is counted.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$event => $text.trim_ascii(),)* }
            }

            /// The event of that name. Capitals and small letters are alike.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|event| event.name().eq_ignore_ascii_case(name))
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
use events;
