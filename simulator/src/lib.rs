//! A simulated machine with the sun4v performance counter service: its clock, strands and memory system, the programs that
//! it executes, the guests that measure them, and what comes out, beside what really happened.
#![forbid(unsafe_code)]

pub mod events;
pub mod machine;
pub mod md;
pub mod memory;
pub mod nearest;
pub mod profile;
pub mod recording;
pub mod scheduler;
pub mod sim;
pub mod strands;
