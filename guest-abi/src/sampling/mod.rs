//! Sampling, to find the code that causes the events: one trait for counters that interrupt when they overflow, and a
//! profiler that drives them.
//!
//! - [`CounterUnit`] stands for two counters of 32 bits that count what a [`Program`] says. [`OwnCounters`] is one: the
//!   strand's own %pcr and %pic (FWARC/2007/529 section 2.1). The counters of other processors can be one too.
//! - The overflow trap of a strand is tt 0x4f. Its handler calls [`Profiler::handle`], which clears the OV bits, and itself
//!   clears bit 15 of %softint. Hardware sets that bit when the trap is requested, not when the counter overflows: code at
//!   PIL 15 that polls the bit sees nothing, and has to read OV. A spurious trap, without OV, can be caused by an instruction
//!   that is flushed when a counter is close to its wrap.
//! - [`Profiler`] samples at a [`Pace`]: it loads the counters, handles their interrupts, keeps counts of 64 bits, and lets
//!   events take turns if there are more of them than counters.

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
