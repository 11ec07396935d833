//! Compact events with timestamps. A strand writes them, and any strand can read them.
//!
//! Each strand writes events to its own [`Ring`], without a lock, an allocation or a loop. An event has a header of one to four 32-bit
//! words, and a payload that depends on the event kind ([`TraceEvent`]). The [`Layout`] determines the number of clock bits in a header. A
//! [`Reader`] always returns the time in 64 bits.
//!
//! ```
//! use hv_core::trace::{Clock19, Mode, RingItem, Reader, Ring, events};
//!
//! events! {
//!     /// The events of this example.
//!     pub enum Seen {
//!         /// A flash of light.
//!         9 Flash "flash" {
//!             colour: u32 = Number,
//!         }
//!     }
//! }
//!
//! static RING: Ring<Clock19, 4, 1000> = Ring::new(Mode::Overwrite);
//! RING.record(1_000_000, Flash { colour: 7 });
//!
//! let mut reader = Reader::new(&RING);
//! // This layout rounds times down to multiples of 512 ticks.
//! let Some(RingItem::Event(event)) = reader.next(Seen::words) else { panic!() };
//! assert_eq!((event.time, Seen::decode(event.id, event.payload)), (999_936, Some(Seen::Flash(Flash { colour: 7 }))));
//! assert_eq!(reader.next(Seen::words), None);
//! ```

#[cfg_attr(target_os = "none", allow(unsafe_code, reason = "the section of the descriptions"))]
mod calls;
mod conditions;
pub mod description;
mod event;
mod layout;
mod packet;
mod reader;
pub mod remote;
mod ring;
mod tracer;

pub use calls::{FastCall, GuestReset, Heartbeat, HypervisorEvent, SetVersion};
pub use conditions::Conditions;
pub use event::{Class, DisplayFormat, Field, STATUSES, TraceEvent, fits, put, take};
pub use layout::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Compact, FullClock, Header, Layout, Shape, Stamp, assert_all_short,
};
pub use reader::{Reader, RingEvent, RingItem};
pub use ring::{Mode, Ring};
pub use tracer::{Clocks, NoTrace, PerStrand, Trace, Tracer, duration};

pub use crate::events;
