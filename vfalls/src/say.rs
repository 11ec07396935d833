//! Messages on standard error.

use std::fmt::Display;
use std::io::Write;

use simulator::text;

use crate::plain::raw_stderr;

/// Prints a line to standard error, [escaped](text::line). If the output fails, the line is lost
/// and the work continues. `eprintln!` would panic, and the exit status would change.
pub fn say(line: impl Display) {
    let _ = writeln!(raw_stderr(), "{}", text::line(&line.to_string()));
}
