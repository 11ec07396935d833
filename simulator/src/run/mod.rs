//! The result of a replay or an execution. The text, the page, the live view, the comparison and the JSON are all made from this
//! one type.

mod compared;
mod conditions;
mod difference;
mod executed;
mod passes;
mod played;
mod region;
mod replayed;
mod result;
mod spread;
mod timeline;
mod totals;
mod waits;

pub use compared::{Figure, FigureValue, Setting, SettingValue};
pub use conditions::Conditions;
pub(crate) use conditions::USUAL_HUB_CYCLES;
pub use executed::{
    BySoftware, ClockChange, ClockRun, EventCounts, Executed, GuestRun, HypervisorRun, StrandRun,
};
pub use passes::PassError;
pub use played::{Asked, Found, Measured, PhaseRun, Played, Settled, StepRun, UnitRun};
pub use region::{Covered, RegionRun};
pub use replayed::{
    CounterResult, GuestCalls, Hypercalls, ProcessRun, Replayed, Stack, ThreadRun, Time,
};
pub use result::{MAX_BYTES, ParseError, ReadError, Run, VERSION};
pub use spread::Spread;
pub use timeline::{ThreadLine, TimeLine};
pub use totals::Total;
pub(crate) use totals::class;
pub use waits::{LockRun, LockSite, State, States, WaitFor, WaitPlace, Waits};
