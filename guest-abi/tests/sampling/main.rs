//! Tests of the profiler. The tests drive the counters.

mod counts;
mod fake;
mod multiplexing;
mod overflows;
mod pace;
mod values;
