//! Standard output for text, with control characters escaped, so that no input can control the
//! terminal.
#![allow(clippy::disallowed_methods, reason = "the other modules print by this one")]

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::str;

use simulator::text;

/// Returns buffered standard output for text. The text is written when the buffer is full, when it
/// is [flushed](Write::flush), and when it is dropped.
pub fn stdout() -> BufWriter<EscapingWriter<Stdout>> {
    BufWriter::new(EscapingWriter::new(io::stdout()))
}

/// Returns standard output without escaping, for a guest's console and for a view that draws a
/// screen.
pub(crate) fn raw_stdout() -> Stdout {
    io::stdout()
}

/// Returns standard error without escaping.
pub(crate) fn raw_stderr() -> io::Stderr {
    io::stderr()
}

/// Returns `true` if standard output is a terminal, which means that a person reads it.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes UTF-8 text with control characters escaped, [line by line](text::lines).
pub struct EscapingWriter<W> {
    output: W,
    /// The first bytes of a character that the latest write left incomplete. The next write
    /// contains the rest.
    begun: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    pub(crate) const fn new(output: W) -> Self {
        Self { output, begun: Vec::new() }
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.output.write_all(text::lines(chunk.valid()).as_bytes())?;
            let can_go_on = str::from_utf8(chunk.invalid()).is_err_and(|e| e.error_len().is_none());
            match chunk.invalid() {
                [] => {}
                begun if can_go_on && chunks.peek().is_none() => self.begun = begun.to_vec(),
                _ => self.output.write_all("\u{fffd}".as_bytes())?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_escaped_wherever_a_write_ends() {
        let text = "a\u{e4}\u{1b}[1m\n\u{202e}\u{1f600}".as_bytes();
        for size in 1..=text.len() {
            let mut plain = EscapingWriter::new(Vec::new());
            text.chunks(size).for_each(|part| plain.write_all(part).unwrap());
            let written = String::from_utf8(plain.output).unwrap();
            assert_eq!(written, "a\u{e4}\\u{1b}[1m\n\\u{202e}\u{1f600}", "{size}");
        }
        let mut plain = EscapingWriter::new(Vec::new());
        plain.write_all(b"\xff\xe2\x28b\xe2").unwrap();
        assert_eq!(plain.output, "\u{fffd}\u{fffd}(b".as_bytes());
    }
}
