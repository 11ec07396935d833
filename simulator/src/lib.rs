#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

pub mod analysis;
pub mod conform;
mod counts;
pub mod events;
pub mod execute;
pub mod input;
pub mod interpreter;
mod json;
mod lookup;
pub mod machine;
pub mod memory;
pub mod nearest;
pub mod operator;
pub mod recording;
pub mod replay;
pub mod run;
mod setters;
pub mod text;
