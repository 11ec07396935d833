//! The profiler on counters that do what a test says.

mod counts;
mod fake;
mod multiplexing;
mod overflows;
mod pace;
mod values;
