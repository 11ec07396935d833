//! Time: from counters to a clock that can be trusted.

mod change;
mod keeper;
mod safety;
mod scale;
mod watchdog;
mod world;
mod wrap;
