//! From a sun4v trap to a call: which guest and strand asks, what it has negotiated, which service answers.
//!
//! [`Hypervisor`] takes the two software traps of a guest. It knows API groups 0 and 1 and the four CORE functions;
//! everything else belongs to the [`Service`]s that it was built with, and what none of them claims goes to the
//! [`Embedder`], the hypervisor image that all of this is part of. Nothing here knows a performance counter.
//!
//! [`time`] makes a clock that can be trusted from counters that cannot all be. [`trace`] records what happens, and when.
#![no_std]
#![forbid(unsafe_code)]

mod caller;
mod hypervisor;
mod negotiation;
mod service;
pub mod sync;
pub mod time;
pub mod trace;

pub use caller::{Caller, GuestId};
pub use hypervisor::{After, Embedder, Hypervisor, Strand};
pub use negotiation::Place;
pub use service::{Reply, Seat, Service, Services};
