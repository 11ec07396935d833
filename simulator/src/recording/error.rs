//! Why a recording cannot be read.

use std::fmt;

/// Why a recording cannot be read: where, what was found there, and what was expected. One line as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    pub(super) file: String,
    pub(super) line: Option<u64>,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

impl RecordingError {
    /// The line of the (decompressed) text, from 1; none where the file as a whole is at fault.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for RecordingError {}

/// `bytes` in quotes, shortened and printable.
pub(super) fn quoted(bytes: &[u8]) -> String {
    const SHOWN: usize = 32;
    match bytes.get(..SHOWN) {
        Some(head) if bytes.len() > SHOWN => format!("\"{}...\"", head.escape_ascii()),
        _ => format!("\"{}\"", bytes.escape_ascii()),
    }
}

/// `name` without anything that would break a line of text.
pub(super) fn printable(name: &str) -> String {
    name.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}
