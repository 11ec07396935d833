//! The simulation: a machine that replays a program, a hypervisor with the service, guests that measure, and the
//! comparison with what really happened.
//!
//! Everything runs on one thread, in an order that depends on the input alone. The machine has one
//! [clock](crate::machine::clock::MachineClock): it advances by the cycles that references take
//! ([`crate::memory::timing`]) and by those of hypercalls. The hubs' own cycle counters count the former alone: what a
//! guest measures does not include its measuring.

mod error;
mod measure;
mod outcome;
mod run;
pub mod scenario;
mod selection;
mod setup;

pub use error::RunError;
pub use measure::{Pair, Place};
pub use outcome::{CounterResult, GuestResults, Hypercalls, Outcome};
pub use run::Progress;
pub use selection::{Choice, Listed, Selection, SelectionError};
pub use setup::{Setup, SetupError, Simulation, Tracing};
