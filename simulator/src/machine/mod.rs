//! The simulated machine: its configuration, description, guests, hypervisor and clock.

pub(crate) mod board;
pub mod clock;
pub mod clocks;
pub mod configuration;
pub mod description;
pub mod guests;
pub mod strands;
