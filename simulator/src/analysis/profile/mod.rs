//! Profiles of recorded programs, by sampling: which code causes the events.
//!
//! A processor executes the recorded instructions, and its counters count the events. When a counter overflows, the processor
//! enters the interrupt handler of a guest ([`guest_abi::sampling`]), which takes a sample of the next instruction.
//! Independently of the counters, the simulator records the instruction that causes each event: the truth. Every report has the total
//! variation distance between the samples and the truth.

mod error;
pub mod events;
pub mod functions;
mod guest;
mod job;
mod r10000;
pub mod report;
pub mod rows;
mod run;
mod sparc;
pub mod stacks;

pub use error::{EventError, ProfileError};
pub use events::SampledUnit;
pub use job::Job;
pub use r10000::MOST_PROCESSORS;
