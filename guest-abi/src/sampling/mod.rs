//! Sampling: which code causes the events. Counters that interrupt when they overflow, behind one trait, and a profiler
//! that drives them.
//!
//! - [`CounterUnit`] is two counters of 32 bits that count what a [`Program`] says. The strand's own, %pcr and %pic, are
//!   such a unit (FWARC/2007/529 section 2.1): [`OwnCounters`]. So are those of other processors.
//! - [`Profiler`] samples at a [`Pace`]: it loads the counters, deals with their interrupts, makes counts of 64 bits,
//!   and lets more events take turns than there are counters.

mod estimate;
mod mode;
mod pace;
mod profiler;
mod program;
mod random;
mod sample;
mod slot;
mod sparc;
mod strand;
mod throttle;
mod unit;

pub use crate::register::CounterSet;
pub use estimate::Estimate;
pub use mode::{ModeSet, UnitMode};
pub use pace::Pace;
pub use profiler::{NoRoom, Profiler, Request};
pub use program::{Assignment, Period, Program};
pub use sample::{Cause, Interrupted, Sample};
pub use slot::EventReport;
pub use sparc::SparcMode;
pub use strand::OwnCounters;
pub use throttle::Throttle;
pub use unit::{CounterUnit, UnitEvent};
