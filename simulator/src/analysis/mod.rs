//! Analyses of a program that show more than counters: counts over time, by line of memory, and by
//! code.

pub mod details;
pub mod profile;
pub mod sharing;
