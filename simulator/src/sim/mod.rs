//! The simulation: a machine that replays a program, a hypervisor with the service, guests that measure, and the
//! comparison with what really happened.
//!
//! Everything runs on one thread, in an order that depends on the input alone. Machine time goes on by the references
//! that are replayed ([`crate::memory::timing`]); while guests are in hypercalls it stands still for the memory system,
//! and goes on for the hubs' accesses by [`HYPERCALL_CYCLES`](crate::machine::board::HYPERCALL_CYCLES) a call.

pub mod guests;
pub mod measure;
pub mod results;
pub mod scenario;
pub mod selection;
