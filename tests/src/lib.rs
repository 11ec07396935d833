//! Whole-system tests, and what they share.

pub mod board;
pub mod comparison;
pub mod machine;
pub mod oracle;
pub mod random;
pub mod swept;

use std::fmt;
use std::io::{self, Write};

/// Prints what a test went through. Unlike `println!`, also when the test passes.
pub fn tell(what: fmt::Arguments<'_>) {
    // Nothing is lost if nobody reads it.
    let _ = io::stdout().write_all(format!("{what}\n").as_bytes());
}

/// The programs of README.md.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
