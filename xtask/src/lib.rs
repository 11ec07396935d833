//! What a person runs.

pub mod memory;
