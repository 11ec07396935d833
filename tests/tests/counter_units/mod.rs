//! Tests two counter units: a SPARC strand's, and an R10000 processor's.
//!
//! - A common suite tests the models of both units, and also `OwnCounters`, through which a guest
//!   uses its own strand's unit.
//! - Other tests are specific to one unit. Some of them compare the unit with a second
//!   implementation, which shares no code with it.

mod conformance;
mod delayed;
mod instructions;
mod own;
mod profiler;
mod r10000;
mod r10000_random;
mod r10000_registers;
mod second_reading;
mod sparc;

conformance::suite!(sparc_conforms, crate::counter_units::sparc::Strand);
conformance::suite!(own_counters_conform, crate::counter_units::own::OwnCounterUnit);
conformance::suite!(r10000_conforms, platform::models::R10000);
