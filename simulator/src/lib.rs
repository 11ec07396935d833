#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod configuration;
pub mod details;
pub mod events;
pub mod execution;
pub mod guests;
pub mod input;
pub mod interpreter;
pub mod machine;
pub mod md;
pub mod memory;
pub mod nearest;
pub mod placement;
pub mod profile;
pub mod recording;
pub mod scheduler;
pub mod sharing;
pub mod simulation;
pub mod strands;
