//! Tests of the profiler, with counters that the tests drive.

mod counts;
mod fake;
mod multiplexing;
mod overflows;
mod pace;
mod values;
