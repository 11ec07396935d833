//! Tests of the guest's side, with a hypervisor that follows a script.

mod calls;
mod negotiation;
mod probe;
mod retry;
mod script;
mod snapshot;
mod strand;
mod widen;
