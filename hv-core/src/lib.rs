#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(not(target_os = "none"), forbid(unsafe_code))]
#![cfg_attr(target_os = "none", deny(unsafe_code))]
#![warn(missing_debug_implementations)]

mod caller;
mod embedder;
mod frame;
mod group;
mod hypervisor;
mod negotiation;
mod service;
#[doc(hidden)]
pub mod sync;
pub mod time;
pub mod trace;

pub use caller::{Caller, ForeignStrand, GuestId};
pub use embedder::{ConsoleOutput, Embedder, NoConsole};
pub use frame::{CallError, Frame, Reply};
pub use group::Group;
pub use hypervisor::{Hypervisor, Strand, TrapOutcome};
pub use negotiation::{Negotiated, NegotiatedVersion, PendingVersion};
pub use service::{Context, Service, Services};
