//! The guest's side against hypervisors that answer by a script.

mod calls;
mod negotiation;
mod probe;
mod retry;
mod script;
mod snapshot;
mod strand;
mod typed;
mod widen;
