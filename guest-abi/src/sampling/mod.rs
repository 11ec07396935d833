//! A profiler that finds the code that causes events, and a trait for the counters that the profiler needs.
//!
//! - [`CounterUnit`] is a pair of 32-bit counters, which count as a [`Program`] says. [`OwnCounters`] implements this trait for the
//!   strand's own %pcr and %pic (FWARC/2007/529 section 2.1). Types for the counters of other processors can implement it too.
//! - The overflow trap of a strand is tt 0x4f. Its handler calls [`Profiler::handle`], which clears OV. The handler then clears bit 15 of
//!   %softint. Hardware sets bit 15 when the trap is requested, not when the counter overflows: code at PIL 15 has to poll OV.
//! - An instruction that is flushed when a counter is close to wrapping can cause a spurious trap, with OV clear.
//! - [`Profiler`] samples at a [`Pace`]. It loads the counters, handles their interrupts, and extends counts to 64 bits. If there
//!   are more events than counters, the events take turns.

mod estimate;
mod mode;
mod pace;
mod period;
mod profiler;
mod program;
mod random;
mod sample;
mod slot;
mod sparc;
mod strand;
mod throttle;
mod unit;

pub use crate::counter::CounterSet;
pub use estimate::Estimate;
pub use mode::{ModeSet, UnitMode};
pub use pace::Pace;
pub use period::Period;
pub use profiler::{NoRoom, Profiler, Request};
pub use program::{Assignment, Program, UnitEvent};
pub use sample::{Cause, InterruptPoint, Sample};
pub use slot::EventReport;
pub use sparc::SparcMode;
pub use strand::OwnCounters;
pub use throttle::Throttle;
pub use unit::CounterUnit;
