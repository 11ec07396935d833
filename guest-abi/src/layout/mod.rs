//! The bit fields of the registers.
//!
//! Every control register selects an event for each of two counters: see [`EventSelect`]. Changing one event leaves all other bits
//! unchanged. A value that is too large for its field is an error.
// The fields are private, because `bitfield-struct` generates setters that panic, or fail with `()`, if a value is too large.
#![allow(dead_code, reason = "bitfield-struct makes all kinds of setters for each field")]

mod dram;
mod hub;
mod l2;
mod sparc;

pub use dram::{DramPcr, DramPic};
pub use hub::{AsuPcr, GpdPcr, LpuPcr};
pub use l2::{L2Control, PerfConfig};
pub use sparc::{SparcPcr, SparcPic, SparcSelect};

use crate::counter::Counter;
use crate::error::error_text;

/// A control register that selects an event for each of two counters.
pub trait EventSelect: Copy + From<u64> + Into<u64> {
    /// The events that the counters can count.
    type Event: Copy;

    /// The bits that a guest can write.
    const WRITABLE: u64;

    /// Returns a mask: ones in a counter's select field, and zeros elsewhere.
    fn field(counter: Counter) -> u64;

    /// Returns the code that selects the event of a counter. The code may be [reserved](ReservedEvent).
    fn code(self, counter: Counter) -> u16;

    /// Returns the register with `event` for `counter`, and all other bits unchanged.
    #[must_use]
    fn with_event(self, counter: Counter, event: Self::Event) -> Self;

    /// Returns the event that a counter counts. Fails if the code is reserved.
    fn event(self, counter: Counter) -> Result<Self::Event, ReservedEvent>;

    /// Returns `busstat`'s `clear_pic` mask: zeros in a counter's select field, and ones elsewhere.
    fn clearing_mask(counter: Counter) -> u64 {
        !Self::field(counter)
    }
}

/// A select code to which the specification assigns no event. A counter with this code counts nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReservedEvent(pub u16);

error_text!(ReservedEvent, |error| "reserved event {:#x}", error.0);

/// Implements [`EventSelect`] for a bit field whose only fields are `select0` and `select1`.
macro_rules! event_select {
    ($($pcr:ident counts $event:ident;)*) => { $(
        impl $crate::layout::EventSelect for $pcr {
            type Event = $event;

            const WRITABLE: u64 = Self::FIELD0 | Self::FIELD1;

            fn field(counter: $crate::counter::Counter) -> u64 {
                match counter {
                    $crate::counter::Counter::Pic0 => Self::FIELD0,
                    $crate::counter::Counter::Pic1 => Self::FIELD1,
                }
            }

            fn with_event(self, counter: $crate::counter::Counter, event: $event) -> Self {
                match counter {
                    $crate::counter::Counter::Pic0 => self.with_select0(event.code()),
                    $crate::counter::Counter::Pic1 => self.with_select1(event.code()),
                }
            }

            #[inline]
            fn code(self, counter: $crate::counter::Counter) -> u16 {
                let code = match counter {
                    $crate::counter::Counter::Pic0 => self.select0(),
                    $crate::counter::Counter::Pic1 => self.select1(),
                };
                code.into()
            }

            fn event(self, counter: $crate::counter::Counter) -> Result<$event, $crate::layout::ReservedEvent> {
                let code = self.code(counter);
                let event = $event::ALL.iter().copied().find(|event| u16::from(event.code()) == code);
                event.ok_or($crate::layout::ReservedEvent(code))
            }
        }

        impl $pcr {
            const FIELD0: u64 = $crate::layout::ones(Self::SELECT0_OFFSET, Self::SELECT0_BITS);
            const FIELD1: u64 = $crate::layout::ones(Self::SELECT1_OFFSET, Self::SELECT1_BITS);
        }
    )* };
}
use event_select;

/// Generates public methods to read and replace private fields. Each field's type holds only values that fit the field.
macro_rules! fields {
    ($register:ident { $($(#[$doc:meta])* $name:ident, $with:ident: $value:ty = $field:ident, $with_field:ident;)* }) => {
        impl $register { $(
            $(#[$doc])*
            #[inline]
            pub const fn $name(self) -> $value {
                self.$field()
            }

            #[doc = concat!("Returns the register with `", stringify!($name), "` as given, and all other bits unchanged.")]
            #[inline]
            pub const fn $with(self, value: $value) -> Self {
                self.$with_field(value)
            }
        )* }
    };
}
use fields;

/// Returns a mask of `bits` ones, from bit `offset` on.
const fn ones(offset: usize, bits: usize) -> u64 {
    ((1 << bits) - 1) << offset
}
