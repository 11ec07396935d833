//! The simulation: a machine that replays a program, a hypervisor with the service, guests that measure, and the
//! comparison with what really happened.
//!
//! Everything runs on one thread, in an order that depends on the input alone. The machine has one
//! [clock](crate::machine::clock::MachineClock): it advances with the earliest of the strands that execute the program
//! ([`crate::scheduler`], [`crate::memory::timing`]), and by the cycles of hypercalls. The hubs' own cycle counters count the former alone: what a
//! guest measures does not include its measuring.

mod error;
mod measure;
mod outcome;
mod replay;
mod run;
pub mod scenario;
mod selection;
mod setup;
mod threads;
mod totals;

pub use error::RunError;
pub use measure::{Pair, Place};
pub use outcome::{
    CounterResult, GuestResults, Hypercalls, Outcome, Served, Stack, ThreadResults, Time,
};
pub use run::{Now, Progress};
pub use selection::{Choice, Listed, Selection, SelectionError};
pub use setup::{Setup, SetupError, Simulation, Tracing};
pub use totals::Total;
