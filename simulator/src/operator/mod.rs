//! The operator of a machine: plays the steps of a scenario on a replay or an execution.
//!
//! A step changes rights or hardware, in a replay as in an execution:
//!
//! - The next step waits until the change of the step before it is complete.
//! - A change that the rights do not allow is rejected, and changes nothing. A change that finds a unit or the service busy is tried
//!   again, at most 10,000 times.
//! - A strand that is killed executes nothing more and takes no cross-call. The operator reports its death to the hypervisor at once, so
//!   that a change of its guest does not wait for the strand: it is *excused*.
//! - A fault breaks a device. Its unit goes out of service at the next access. A step that mends the device also returns the unit to service.
//!
//! [`Operator`] plays the steps, on a machine that implements [`Operated`].

mod file;
mod player;
#[cfg(test)]
mod tests;

pub use file::{Action, Scenario, Step, Unchecked};
pub(crate) use player::gains;
pub use player::{Answer, Operated, Operator, Worked};
