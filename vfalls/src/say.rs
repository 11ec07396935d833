//! Messages on standard error.

use std::fmt::Display;
use std::io::Write;

use simulator::text;

use crate::plain::raw_stderr;

/// Prints a line to standard error, [escaped](text::line). If printing fails, the line is lost and
/// the work continues, whereas `eprintln!` would panic and change the exit status.
pub fn say(line: impl Display) {
    let _ = writeln!(raw_stderr(), "{}", text::line(&line.to_string()));
}
