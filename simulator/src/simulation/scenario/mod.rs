//! Scenarios: changes of rights and hardware while the program runs.
//!
//! The time between two steps is a *phase*. In each phase every guest programs the counters that it may use, and measures;
//! at the end of the phase the counts are compared with what happened in it. A step changes rights or hardware while the
//! program stands still. If a change is pending after it, guests make calls, strands take their cross-calls, and dead
//! strands are excused, until the change is complete.

mod file;
mod outcome;
mod play;

pub use file::{Action, Scenario, Step, Unchecked};
pub use outcome::{
    Asked, Found, Measured, PhaseResults, ScenarioOutcome, StepResults, UnitResults,
};
pub use play::Progress;
pub(crate) use play::faulty;
