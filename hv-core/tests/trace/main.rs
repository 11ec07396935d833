//! Compact events: headers, times, losses, and readers concurrent with the writer.

mod conditions;
mod events;
mod headers;
mod hypervisor;
mod losses;
mod threads;
mod times;

use hv_core::trace::{Layout, Next, Reader, events};

events! {
    /// Events of the tests.
    pub enum TestEvent {
        /// An event without a payload.
        8 Empty "empty" {}
        /// An event with one word of payload.
        9 Small "small" {
            /// A serial number.
            number: u32 = Number,
        }
        /// An event with three words of payload.
        30 Large "large" {
            /// A serial number.
            number: u32 = Number,
            /// Any value.
            value: u64 = Hex,
        }
        /// An event for whose number [`Clock27`](hv_core::trace::Clock27) has no short header.
        31 Rare "rare" {
            /// A serial number.
            number: u32 = Number,
        }
    }
}

/// An entry that a reader returned, with the payload decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Event(u64, TestEvent),
    Lost(u64),
}

/// Reads until nothing is left.
pub(crate) fn drain<L: Layout, const P: usize, const W: usize>(
    reader: &mut Reader<'_, L, P, W>,
) -> Vec<Got> {
    std::iter::from_fn(|| {
        reader.next(TestEvent::words).map(|next| match next {
            Next::Event(event) => Got::Event(
                event.time,
                TestEvent::decode(event.id, event.payload).expect("an event of the tests"),
            ),
            Next::Lost(lost) => Got::Lost(lost),
        })
    })
    .collect()
}
