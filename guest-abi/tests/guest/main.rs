//! Tests of the guest's side. A script plays the hypervisor.

mod calls;
mod errors;
mod exhaustive;
mod negotiation;
mod probe;
mod retry;
mod script;
mod snapshot;
mod strand;
mod widen;
