//! Why a recording cannot be read.

/// Why a recording cannot be read: where, what was found there, and what was expected. One line as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: found {found}, expected {expected}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct RecordingError {
    pub(super) file: String,
    pub(super) line: Option<u64>,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

impl RecordingError {
    /// Returns the error for a file that as a whole is no recording.
    pub(super) fn of_file(file: &str, found: impl Into<String>, expected: &'static str) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            found: found.into(),
            expected,
        }
    }

    /// The line of the (decompressed) text, from 1; none where the file as a whole is at fault.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

/// Returns bytes in quotes, shortened and printable.
pub(super) fn quoted(bytes: &[u8]) -> String {
    const SHOWN: usize = 32;
    match bytes.get(..SHOWN) {
        Some(head) if bytes.len() > SHOWN => format!("\"{}...\"", head.escape_ascii()),
        _ => format!("\"{}\"", bytes.escape_ascii()),
    }
}

/// Returns a name with its control characters escaped, so that it stays on one line.
pub(super) fn printable(name: &str) -> String {
    let printable = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    name.chars().map(printable).collect()
}
