//! Tests of the reliable clock that is made from unreliable counters.

mod change;
mod day;
mod frequency;
mod judge;
mod keeper;
mod pc;
mod safety;
mod scale;
mod second;
mod watchdog;
mod world;
mod wrap;
