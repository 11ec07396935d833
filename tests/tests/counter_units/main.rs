//! The two counter units: one suite that both pass, what is special about each, and both beside counters that are
//! written apart from them.

mod conformance;
mod instructions;
mod profiler;
mod r10000;
mod r10000_random;
mod r10000_registers;
mod sparc;
mod sparc_random;

conformance::suite!(sparc_conforms, crate::sparc::Strand);
conformance::suite!(r10000_conforms, platform::models::R10000);
