//! A machine's operator, which plays a scenario's steps on a replay or an execution.
//!
//! A step changes rights, hardware or [clocks](crate::machine::clocks):
//!
//! - A step waits until the previous step's change is complete.
//! - A change that the rights do not allow is rejected and has no effect. A change that finds a unit or the service busy is tried again,
//!   at most 10,000 times.
//! - A killed strand executes nothing more and takes no cross-call. The operator immediately reports the death to the hypervisor. A later
//!   step that takes a right from the strand's guest, or resets the guest, then does not wait for the strand: the strand is *excused*.
//! - A fault breaks a device. The device's unit goes out of service at the next access. A step that mends the device also returns the unit
//!   to service.
//! - A clock goes wrong immediately, and the hypervisor is not told. A step can change clocks only in an execution.
//!
//! [`Operator`] plays the steps on a machine that implements [`OperatedMachine`].

mod file;
mod player;
#[cfg(test)]
mod tests;

pub use file::{Action, Scenario, Step, UncheckedScenario};
pub(crate) use player::adds_right;
pub use player::{Answer, OperatedMachine, Operator, OperatorProgress};
