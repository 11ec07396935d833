//! Results of the simulator as text.

pub mod events;
pub mod scenario;
pub mod sim;
