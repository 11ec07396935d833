//! The counter units of SPARC strands and of the R10000.
//!
//! - Both units pass the same suite. A strand's unit also passes it in the form that a guest uses.
//! - Each unit also has its own tests, and a reference that shares no code with it.

mod behind;
mod conformance;
mod instructions;
mod own;
mod profiler;
mod r10000;
mod r10000_random;
mod r10000_registers;
mod second_reading;
mod sparc;

conformance::suite!(sparc_conforms, crate::sparc::Strand);
conformance::suite!(own_counters_conform, crate::own::Own);
conformance::suite!(r10000_conforms, platform::models::R10000);
