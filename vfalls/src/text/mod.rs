//! Formats the simulator's results as text.

pub(crate) mod events;
pub(crate) mod layouts;
pub(crate) mod replay;
pub(crate) mod scenario;

pub(crate) mod summary;
pub(crate) mod waits;
