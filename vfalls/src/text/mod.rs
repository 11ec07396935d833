//! Results of the simulator as text.

pub mod events;
pub mod layouts;
pub mod scenario;
pub mod sim;
pub mod summary;
