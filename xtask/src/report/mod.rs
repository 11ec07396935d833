//! Results of the simulator as text and pictures.

pub mod events;
pub mod scenario;
pub mod sim;
