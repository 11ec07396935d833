//! The simulated machine: its hypervisor and its clock.

pub mod board;
pub mod clock;
