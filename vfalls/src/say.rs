//! Messages on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a line to standard error. If that fails, the line is lost and the work goes on. `eprintln!` would panic, and a panic
/// changes the exit status.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}
