//! Profiles recorded programs: finds the code that causes events, by taking samples.
//!
//! A processor executes the recorded instructions, and its counters count the events. When a counter overflows, the processor
//! enters the interrupt handler of a guest ([`guest_abi::sampling`]). The handler takes a sample of the next instruction.
//!
//! No counter of a strand counts cycles. To find the code that takes many cycles, a clock of the simulator takes samples of
//! the instruction that a thread executes or at which it waits.
//!
//! Independently of the samples, the simulator records which instruction causes each event. This record is the truth. Every
//! report contains the total variation distance between the samples and the truth.

mod clock;
mod error;
pub mod events;
pub mod functions;
mod guest;
mod job;
mod processor;
mod r10000;
pub mod report;
pub mod rows;
mod run;
mod sampled;
mod sparc;
pub mod stacks;

pub use error::{EventError, ProfileError};
pub use events::SampledUnit;
pub use job::Job;
pub use r10000::MAX_PROCESSORS;
