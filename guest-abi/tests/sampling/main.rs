//! Tests of the profiler, with counters that a test drives.

mod counts;
mod fake;
mod multiplexing;
mod overflows;
mod pace;
mod values;
