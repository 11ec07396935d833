//! A log line of bounded length.

use core::fmt;

use heapless::Vec;

/// The maximum length of a line in bytes. The rest of a longer line is cut off.
pub const MAX_LINE_BYTES: usize = 240;

/// A message's text, without the line end.
#[derive(Clone, Debug, Default)]
pub struct Line(Vec<u8, MAX_LINE_BYTES>);

impl Line {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Write for Line {
    /// Adds text. A control character becomes `?`, so that a name cannot end the line.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars()
            .try_for_each(|character| {
                let shown = if character.is_control() { '?' } else { character };
                // Adds the whole character or nothing, so that the line stays UTF-8.
                self.0.extend_from_slice(shown.encode_utf8(&mut [0; 4]).as_bytes())
            })
            .map_err(|_| fmt::Error)
    }
}
