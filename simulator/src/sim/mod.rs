//! The simulation: a machine that replays a program, a hypervisor with the service, guests that measure, and the
//! comparison with what really happened.
//!
//! Everything runs on one thread, in an order that depends on the input alone. The machine has one
//! [clock](crate::machine::clock::MachineClock): it advances by the cycles that references take
//! ([`crate::memory::timing`]) and by those of hypercalls. The hubs' own cycle counters count the former alone: what a
//! guest measures does not include its measuring.

pub mod guests;
pub mod measure;
pub mod results;
pub mod scenario;
pub mod selection;
