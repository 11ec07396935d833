//! Whole-system tests.

pub mod oracle;
