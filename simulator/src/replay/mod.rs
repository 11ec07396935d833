//! Replays programs. A machine executes the references in the programs' recordings, and a hypervisor offers the service to guests.
//! The guests measure, and their counts are compared with what really happened.
//!
//! The order of all events depends only on the input. A replay runs on one host thread; a second thread may
//! [read ahead](crate::recording::Recording::read_ahead). The machine's [clock](crate::machine::clock::MachineClock) advances with
//! the earliest time of the program's strands ([`crate::replay::scheduler`], [`crate::memory::timing`]), and also by the cycles of
//! hypercalls. The hubs' cycle counters do not count the cycles of hypercalls, so a guest's measurement does not include its own
//! cost.

mod compared;
#[cfg(test)]
mod equivalence;
mod error;
mod measure;
mod pace;
mod part;
mod pause;
pub mod placement;
mod program;
mod progress;
pub mod region;
mod run;
pub mod scenario;
pub mod scheduler;
mod selection;
mod setup;
#[cfg(test)]
mod tests;
mod threads;

pub use error::RunError;
pub use measure::{CountedEvent, CounterLocation, CounterPair};
pub use progress::Progress;
pub(crate) use run::stopped_after;
pub use run::{PausedReplay, Stage};
pub use selection::{Choice, Listed, Selection, SelectionError};
pub use setup::{Prepared, Setup, SetupError, Tracing};
