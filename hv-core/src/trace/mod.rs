//! Compact events: what happened, and when, for a reader on another strand.
//!
//! Each strand writes events to a [`Ring`] of its own, without a lock, an allocation or a loop. An event is a header of
//! one to four words of 32 bits and a payload that its kind determines ([`Event`]). How much of the clock a header
//! holds is the [`Layout`]; a [`Reader`] always gives the time in 64 bits.
//!
//! ```
//! use hv_core::trace::{Clock19, Mode, Next, Ring, events};
//!
//! events! {
//!     /// All there is.
//!     pub enum Seen {
//!         /// Something was seen.
//!         9 Flash "flash" {
//!             /// What colour it had.
//!             colour: u32 = Number,
//!         }
//!     }
//! }
//!
//! static RING: Ring<Clock19, 4, 1000> = Ring::new(Mode::Overwrite);
//! RING.record(1_000_000, Flash { colour: 7 });
//!
//! let mut reader = RING.reader();
//! // To a whole 512 ticks.
//! let Some(Next::Event(event)) = reader.next(Seen::words) else { panic!() };
//! assert_eq!((event.time, Seen::decode(event.id, event.payload)), (999_936, Some(Seen::Flash(Flash { colour: 7 }))));
//! assert_eq!(reader.next(Seen::words), None);
//! ```

mod calls;
mod event;
mod layout;
mod packet;
mod reader;
mod ring;
mod tracer;

pub use calls::{FastCall, GuestReset, HypervisorEvent, SetVersion};
pub use event::{Class, Event, Field, STATUSES, Shown, fits, put, take};
pub use layout::{Clock19, Clock27, Clock32, Clock64, Clock64Aligned, Header, Layout, Stamp};
pub use reader::{Next, Reader, Recorded};
pub use ring::{Mode, Ring};
pub use tracer::{Clocks, Each, Off, Trace, Tracer, duration};

pub use crate::events;
