//! Results of the simulator as text and pictures.

pub mod events;
pub mod flame;
pub mod profile;
pub mod scenario;
pub mod sim;
