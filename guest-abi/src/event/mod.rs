//! The events that counters can count, under the names that users of `busstat` and `cpustat` know.
//!
//! The hardware fixes the events, so the enumerations do not grow: a model can match every event.

mod dram;
mod hub;
mod sparc;

pub use dram::DramEvent;
pub use hub::{AsuEvent, GpdEvent, LpuEvent};
pub use sparc::SparcEvent;

macro_rules! events {
    ($(#[$doc:meta])* $type:ident $what:literal: $code:ty { $($event:ident = $number:literal, $name:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($code)]
        pub enum $type {
            $(
                #[doc = $text]
                #[doc(alias = $name)]
                $event = $number,
            )*
        }

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

            /// Returns the name that `busstat` or `cpustat` shows.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }

            /// Returns a one-line description of the event.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$event => $text,)* }
            }
        }

        $crate::error::named!($type, $what, name);
    };
}
use events;
