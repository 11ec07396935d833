//! Sampling: which code causes the events. Counters that interrupt when they overflow, behind one trait.
//!
//! [`CounterUnit`] is two counters of 32 bits that count what a [`Program`] says. The strand's own, %pcr and %pic, are
//! such a unit (FWARC/2007/529 section 2.1), and so are those of other processors.

mod program;
mod set;
mod sparc;
mod unit;

pub use program::{Assignment, Period, Program};
pub use set::{CounterSet, ModeSet, UnitMode};
pub use sparc::SparcMode;
pub use unit::{CounterUnit, UnitEvent};
