//! Analyses of a program that show more than counters do: counts over time, by memory line, and by
//! code.

pub mod details;
pub mod profile;
pub mod sharing;
