//! Sampling a recorded program: which of its code causes the events.
//!
//! A processor executes the recorded instructions one after the other, and its counters count what they do. When one
//! overflows, the processor enters the interrupt handler of a guest, which is [`guest_abi::sampling`]: it takes a sample of
//! the instruction that would have come next. Beside that the simulation writes down where every event really happened,
//! by numbers that do not come from the counters; how far the two are apart is the total variation distance of every
//! report.

mod error;
pub mod events;
pub mod guest;
mod job;
pub mod r10000;
pub mod report;
pub mod rows;
pub mod run;
pub mod sparc;

pub use error::{EventError, ProfileError};
pub use job::{Job, Unit};
