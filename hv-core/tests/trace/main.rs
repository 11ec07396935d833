//! Compact events: headers, times, losses, and a reader beside the writer.

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
        /// Without a payload.
        8 Empty "empty" {}
        /// One word.
        9 Small "small" {
            /// Counts.
            number: u32 = Number,
        }
        /// Three words.
        30 Large "large" {
            /// Counts.
            number: u32 = Number,
            /// Anything.
            value: u64 = Hex,
        }
        /// A number that [`Clock27`](hv_core::trace::Clock27) has no short header for.
        31 Rare "rare" {
            /// Counts.
            number: u32 = Number,
        }
    }
}

/// What a reader gave, with the payload decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Event(u64, TestEvent),
    Lost(u64),
}

/// Everything that there is to read now.
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
