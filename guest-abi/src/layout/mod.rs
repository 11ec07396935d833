//! What is in the registers.
//!
//! Every control register selects one event for each of its two counters; [`EventSelect`] is what they have in
//! common. Setting an event changes its own field only, as `busstat` does with the mask that the kernel gives it.

mod dram;
mod hub;
mod l2;
mod sparc;

pub use dram::{DramPcr, DramPic};
pub use hub::{AsuPcr, GpdPcr, LpuPcr};
pub use l2::{L2Control, PerfConfig};
pub use sparc::{SparcPcr, SparcPic, SparcSelect};

use crate::register::Counter;

/// A control register: which event each of the two counters counts.
pub trait EventSelect: Copy + From<u64> + Into<u64> {
    /// The events of this unit.
    type Event: Copy;

    /// The bits that a guest can write.
    const WRITABLE: u64;

    /// The select field of a counter, in place.
    fn field(counter: Counter) -> u64;

    /// The register with this event for this counter, and every other bit as it was.
    #[must_use]
    fn with_event(self, counter: Counter, event: Self::Event) -> Self;

    /// The event of a counter; an error keeps the code of one that is reserved.
    fn event(self, counter: Counter) -> Result<Self::Event, ReservedEvent>;

    /// `busstat`'s `clear_pic` mask: ones but for the select field of the counter.
    fn clearing_mask(counter: Counter) -> u64 {
        !Self::field(counter)
    }
}

/// A select field that holds no event of the specification. The counter then counts nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedEvent(pub u16);

impl core::fmt::Display for ReservedEvent {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "reserved event {:#x}", self.0)
    }
}

impl core::error::Error for ReservedEvent {}

/// A control register that is two selects, `select0` and `select1`, and nothing else.
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

/// Returns a field of ones.
const fn ones(offset: usize, bits: usize) -> u64 {
    ((1 << bits) - 1) << offset
}
