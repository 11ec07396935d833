//! The simulated machine: its configuration, its description, its guests, its hypervisor and its clock.

pub(crate) mod board;
pub mod clock;
pub mod configuration;
pub mod description;
pub mod guests;
pub mod strands;
