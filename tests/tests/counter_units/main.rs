//! The two counter units: one suite that both pass, a strand's as a guest reaches it too; what is special about each; and
//! both beside counters that are written apart from them.

mod conformance;
mod instructions;
mod own;
mod profiler;
mod r10000;
mod r10000_random;
mod r10000_registers;
mod sparc;
mod sparc_random;

conformance::suite!(sparc_conforms, crate::sparc::Strand);
conformance::suite!(own_counters_conform, crate::own::Own);
conformance::suite!(r10000_conforms, platform::models::R10000);
