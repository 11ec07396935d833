//! A machine that is changed while the program runs.
//!
//! Between two steps is a *phase*. In each phase every guest measures what it may, beginning with counters that it has just
//! programmed, and at the end of the phase that is compared with what happened in it. A step changes rights or hardware
//! while the program stands still; what is pending after it is played to its end: guests ask while it is, strands take
//! their cross-calls, the dead are excused.

mod file;
mod outcome;
mod play;

pub use file::{Action, Scenario, Step, Unchecked};
pub use outcome::{
    Asked, Found, Measured, PhaseResults, ScenarioOutcome, StepResults, UnitResults,
};
pub use play::Progress;
