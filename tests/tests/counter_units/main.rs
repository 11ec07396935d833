//! The counter units of SPARC strands and of the R10000: a suite that both pass, and that a strand's unit also passes as its
//! guest uses it; tests of each unit alone; and both against reference counters that share no code with them.

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
