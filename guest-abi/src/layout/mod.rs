//! The fields of the registers.
//!
//! Every control register selects one event for each of two counters, which is the trait [`EventSelect`]. Setting an event
//! changes its own field only, as `busstat` does with the mask that the kernel gives it.

mod dram;
mod hub;
mod l2;
mod sparc;

pub use dram::{DramPcr, DramPic};
pub use hub::{AsuPcr, GpdPcr, LpuPcr};
pub use l2::{L2Control, PerfConfig};
pub use sparc::{SparcPcr, SparcPic, SparcSelect};

use crate::register::Counter;

/// A control register, which selects an event for each of two counters.
pub trait EventSelect: Copy + From<u64> + Into<u64> {
    /// The events that its counters can count.
    type Event: Copy;

    /// The bits that a guest can write.
    const WRITABLE: u64;

    /// Returns ones in the select field of a counter, and zeros elsewhere.
    fn field(counter: Counter) -> u64;

    /// Returns the register with this event for this counter, and every other bit as it was.
    #[must_use]
    fn with_event(self, counter: Counter, event: Self::Event) -> Self;

    /// Returns the event of a counter.
    ///
    /// # Errors
    /// If the code is reserved.
    fn event(self, counter: Counter) -> Result<Self::Event, ReservedEvent>;

    /// Returns `busstat`'s `clear_pic` mask: zeros in the select field of a counter, and ones elsewhere.
    fn clearing_mask(counter: Counter) -> u64 {
        !Self::field(counter)
    }
}

/// A code in a select field that is not an event of the specification. The counter then counts nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedEvent(pub u16);

impl core::fmt::Display for ReservedEvent {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "reserved event {:#x}", self.0)
    }
}

impl core::error::Error for ReservedEvent {}

/// Implements [`EventSelect`] for a bit field that consists of two selects, `select0` and `select1`.
macro_rules! event_select {
    ($($pcr:ident counts $event:ident;)*) => { $(
        impl $crate::layout::EventSelect for $pcr {
            type Event = $event;

            const WRITABLE: u64 = Self::FIELD0 | Self::FIELD1;

            fn field(counter: $crate::register::Counter) -> u64 {
                match counter {
                    $crate::register::Counter::Pic0 => Self::FIELD0,
                    $crate::register::Counter::Pic1 => Self::FIELD1,
                }
            }

            fn with_event(self, counter: $crate::register::Counter, event: $event) -> Self {
                match counter {
                    $crate::register::Counter::Pic0 => self.with_select0(event.code()),
                    $crate::register::Counter::Pic1 => self.with_select1(event.code()),
                }
            }

            fn event(self, counter: $crate::register::Counter) -> Result<$event, $crate::layout::ReservedEvent> {
                let code = match counter {
                    $crate::register::Counter::Pic0 => self.select0(),
                    $crate::register::Counter::Pic1 => self.select1(),
                };
                $event::from_code(code).ok_or($crate::layout::ReservedEvent(code.into()))
            }
        }

        impl $pcr {
            const FIELD0: u64 = $crate::layout::ones(Self::SELECT0_OFFSET, Self::SELECT0_BITS);
            const FIELD1: u64 = $crate::layout::ones(Self::SELECT1_OFFSET, Self::SELECT1_BITS);
        }
    )* };
}
use event_select;

/// Returns `bits` ones from bit `offset` on.
const fn ones(offset: usize, bits: usize) -> u64 {
    ((1 << bits) - 1) << offset
}
