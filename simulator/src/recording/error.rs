//! The error for a recording that cannot be read.

/// The error for a recording that cannot be read. The message is one line: the place, what was found there, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: found {found}, expected {expected}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct RecordingError {
    pub(super) file: String,
    pub(super) line: Option<u64>,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

impl RecordingError {
    /// Returns an error about the whole file.
    pub(super) fn in_file(file: &str, found: impl Into<String>, expected: &'static str) -> Self {
        Self { file: file.to_owned(), line: None, found: found.into(), expected }
    }

    /// Returns the number of the line in the (decompressed) text, from 1; `None` if the error is about the whole file.
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

/// Returns bytes as printable text in quotes. Long text is cut off.
pub(super) fn quoted(bytes: &[u8]) -> String {
    const SHOWN: usize = 32;
    match bytes.get(..SHOWN) {
        Some(head) if bytes.len() > SHOWN => format!("\"{}...\"", head.escape_ascii()),
        _ => format!("\"{}\"", bytes.escape_ascii()),
    }
}
