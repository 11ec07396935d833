//! Sampling a recorded program: which of its code causes the events.
//!
//! A processor executes the recorded instructions one after the other, and its counters count what they do. When a counter
//! overflows, the processor enters the interrupt handler of a guest, which is [`guest_abi::sampling`]: it takes a sample of
//! the next instruction. The simulation also notes where every event really happened, without use of the counters. Every
//! report has the total variation distance between the samples and that truth.

mod error;
pub mod events;
pub mod guest;
mod job;
pub mod r10000;
pub mod report;
pub mod rows;
pub mod run;
pub mod sparc;
pub mod stacks;

pub use error::{EventError, ProfileError};
pub use job::{Job, Unit};
