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

            /// Returns the code that selects the event.
            pub const fn code(self) -> $code {
                self as $code
            }

            /// Returns the event with this code; `None` if the code is reserved.
            pub const fn from_code(code: $code) -> Option<Self> {
                match code { $($number => Some(Self::$event),)* _ => None }
            }

            /// Returns the event's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }

            /// Returns one line that says what is counted.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$event => $text.trim_ascii(),)* }
            }

            /// Returns the event with this name, in upper or lower case.
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
