//! Whole-system tests, and what they share.

pub mod board;
pub mod comparison;
pub mod machine;
pub mod oracle;
pub mod random;
