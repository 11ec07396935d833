//! Whole-system tests, and what they share.

pub mod board;
pub mod comparison;
pub mod machine;
pub mod oracle;
pub mod random;

/// The programs of README.md.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
