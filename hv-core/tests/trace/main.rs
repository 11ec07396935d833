//! Tests compact events: headers, times, losses, and readers that run while the writer writes.

/// Calls a function for each layout. The function's first argument is the resolution of the layout's times, in ticks.
macro_rules! for_each_layout {
    ($function:ident($($argument:expr),*)) => {
        $function::<hv_core::trace::Clock19>(512 $(, $argument)*);
        $function::<hv_core::trace::Clock25Cut7>(128 $(, $argument)*);
        $function::<hv_core::trace::Clock26Cut6>(64 $(, $argument)*);
        $function::<hv_core::trace::Clock27Cut5>(32 $(, $argument)*);
        $function::<hv_core::trace::Clock27Typed>(1 $(, $argument)*);
        $function::<hv_core::trace::Clock27>(1 $(, $argument)*);
        $function::<hv_core::trace::Clock32>(1 $(, $argument)*);
        $function::<hv_core::trace::Clock64>(1 $(, $argument)*);
        $function::<hv_core::trace::Clock64Aligned>(1 $(, $argument)*);
    };
}

mod conditions;
mod events;
mod headers;
mod hypervisor;
mod losses;
mod remote;
mod threads;
mod times;

use hv_core::trace::{Layout, Reader, Ring, RingItem, events};

events! {
    /// Events with payloads of zero, one and three words.
    pub enum TestEvent {
        /// An event without a payload.
        8 Empty "empty" {}
        /// An event with one word of payload.
        9 Small "small" {
            number: u32 = Number,
        }
        /// An event with three words of payload.
        30 Large "large" {
            number: u32 = Number,
            value: u64 = Hex,
        }
        /// An event whose kind number has no short header in [`Clock27`](hv_core::trace::Clock27).
        31 Rare "rare" {
            number: u32 = Number,
        }
    }
}

/// An entry that a reader has returned, with the payload decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Event(u64, TestEvent),
    Lost(u64),
}

impl From<RingItem<'_>> for Got {
    fn from(next: RingItem<'_>) -> Self {
        match next {
            RingItem::Event(event) => Self::Event(
                event.time,
                TestEvent::decode(event.id, event.payload).expect("an event of the tests"),
            ),
            RingItem::Lost(lost) => Self::Lost(lost),
        }
    }
}

/// Returns all entries that the reader can read now.
pub(crate) fn drain<L: Layout, const P: usize, const W: usize>(
    reader: &mut Reader<'_, L, P, W>,
) -> Vec<Got> {
    std::iter::from_fn(|| reader.next(TestEvent::words).map(Got::from)).collect()
}

/// Records an event of one of the four kinds, and returns it.
pub(crate) fn record<L: Layout, const P: usize, const W: usize>(
    ring: &Ring<L, P, W>,
    time: u64,
    kind: u8,
    number: u32,
) -> TestEvent {
    let event = match kind {
        0 => TestEvent::Empty(Empty {}),
        1 => TestEvent::Small(Small { number }),
        2 => TestEvent::Rare(Rare { number }),
        _ => TestEvent::Large(Large { number, value: u64::MAX - u64::from(number) }),
    };
    match event {
        TestEvent::Empty(event) => ring.record(time, event),
        TestEvent::Small(event) => ring.record(time, event),
        TestEvent::Rare(event) => ring.record(time, event),
        TestEvent::Large(event) => ring.record(time, event),
    }
    event
}
