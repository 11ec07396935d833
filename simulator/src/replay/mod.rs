//! The replay of a program: a machine that executes the references of its recording, a hypervisor with the service, guests that
//! measure, and the comparison with what really happened.
//!
//! Everything runs on one thread, in an order that depends on the input alone. The machine has one
//! [clock](crate::machine::clock::MachineClock): it advances with the earliest of the strands that execute the program
//! ([`crate::replay::scheduler`], [`crate::memory::timing`]), and by the cycles of hypercalls. The hubs' own cycle counters do not
//! count hypercalls, so that a guest does not measure its own measuring.

mod compared;
mod error;
mod measure;
pub mod placement;
mod program;
mod run;
pub mod scenario;
pub mod scheduler;
mod selection;
mod setup;
mod threads;

pub use error::RunError;
pub use measure::{Pair, Place};
pub use run::{Now, Progress};
pub use selection::{Choice, Listed, Selection, SelectionError};
pub use setup::{Prepared, Setup, SetupError, Tracing};
