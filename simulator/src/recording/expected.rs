//! Finds out how many references a recording has before all of it has been read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;

use super::source::Source;

/// The number of samples that are taken from an uncompressed file.
const SAMPLES: u64 = 64;
/// The size of a sample, in bytes.
const SAMPLE: u64 = 1 << 16;

/// The number of references that a recording is expected to have.
#[derive(Clone, Debug)]
pub(super) struct Expected(Arc<OnceLock<u64>>);

impl Expected {
    /// Finds the number of references in a lackey file. For an uncompressed file, estimates it from samples that are evenly spread
    /// over the file. A compressed file is read to its end in a separate thread, because how well one part of it is compressed says
    /// nothing about the others. Returns `None` if the file cannot be read again.
    pub(super) fn new(path: &Path, is_plain: bool) -> Option<Self> {
        if is_plain {
            let file = File::open(path).ok()?;
            let length = file.metadata().ok()?.len();
            return Some(Self(Arc::new(OnceLock::from(estimate(file, length).ok()?))));
        }
        let source = Source::open(path).ok()?;
        Self::counted(move |should_continue| count(source.text, should_continue).ok().flatten())
    }

    /// Runs `count` in a separate thread. `count` receives a function, and must return soon after this function returns `false`.
    /// Returns `None` if the thread cannot be started.
    pub(super) fn counted(
        count: impl FnOnce(&dyn Fn() -> bool) -> Option<u64> + Send + 'static,
    ) -> Option<Self> {
        let found = Arc::new(OnceLock::new());
        let of_thread = Arc::downgrade(&found);
        let count = move || {
            // Once no strong reference to `found` is left, the recording has been dropped.
            let count = count(&|| of_thread.strong_count() > 0);
            if let Some((found, count)) = of_thread.upgrade().zip(count) {
                let _ = found.set(count);
            }
        };
        thread::Builder::new().name("count".into()).spawn(count).ok()?;
        Some(Self(found))
    }

    /// Returns the number of references; `None` while they are being counted.
    pub(super) fn references(&self) -> Option<u64> {
        self.0.get().copied()
    }
}

/// Estimates the number of references in a file of `length` bytes. The result is exact if the samples cover the whole file.
fn estimate(mut file: impl Read + Seek, length: u64) -> io::Result<u64> {
    if length <= SAMPLES * SAMPLE {
        return count(file, || true).map(Option::unwrap_or_default);
    }
    let mut text = Vec::new();
    let mut references = 0.0;
    for sample in 0..SAMPLES {
        // The file is divided into equal intervals, with a sample in the middle of each.
        let middle =
            (u128::from(length) * u128::from(2 * sample + 1) / u128::from(2 * SAMPLES)) as u64;
        file.seek(SeekFrom::Start(middle - SAMPLE / 2))?;
        text.clear();
        file.by_ref().take(SAMPLE).read_to_end(&mut text)?;
        let lines = whole_lines(&text);
        if !lines.is_empty() {
            references += references_in_lines(lines) as f64 / lines.len() as f64;
        }
    }
    Ok((references / SAMPLES as f64 * length as f64) as u64)
}

/// Returns the text without any incomplete lines at its beginning and end.
fn whole_lines(text: &[u8]) -> &[u8] {
    let newline = |byte: &u8| *byte == b'\n';
    match (text.iter().position(newline), text.iter().rposition(newline)) {
        (Some(first), Some(last)) => &text[first + 1..=last.max(first)],
        _ => &[],
    }
}

/// Counts a text's references. Returns `None` once `should_continue` returns `false`.
fn count(mut text: impl Read, should_continue: impl Fn() -> bool) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; SAMPLE as usize];
    let (mut length, mut references) = (0, 0);
    while should_continue() {
        let read = match text.read(&mut buffer[length..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        length += read;
        let lines = match buffer[..length].iter().rposition(|byte| *byte == b'\n') {
            Some(last) if read > 0 => last + 1,
            // The last line may lack a newline. A line so long that it fills the buffer can only be a message, which has no
            // references.
            _ if read == 0 || length == buffer.len() => length,
            _ => 0,
        };
        references += references_in_lines(&buffer[..lines]);
        buffer.copy_within(lines..length, 0);
        length -= lines;
        if read == 0 {
            return Ok(Some(references));
        }
    }
    Ok(None)
}

/// Returns the number of references in whole lines.
fn references_in_lines(lines: &[u8]) -> u64 {
    let of_line = |line: &[u8]| match line {
        [b'I', ..] | [b' ', b'L' | b'S', ..] => 1,
        [b' ', b'M', ..] => 2,
        _ => 0,
    };
    lines.split(|byte| *byte == b'\n').map(of_line).sum()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn the_references_of_lines_are_counted() {
        let text = "==7== a message\n\nI  04001090,3\n L 1ffeffe7c8,8\n S 10,8\n M 0421c7cc,4\nI  04001093,2";
        assert_eq!(count(Cursor::new(text), || true).unwrap(), Some(6));
        assert_eq!(count(Cursor::new(text), || false).unwrap(), None);
        // Lines can cross the end of the buffer.
        let many = " L 1ffeffe7c8,8\n".repeat(100_000);
        assert_eq!(count(Cursor::new(many), || true).unwrap(), Some(100_000));
    }

    /// Roughly the first quarter of the text contains messages, and longer lines than the rest.
    #[test]
    fn an_estimate_is_right_to_two_percent() {
        let mut text = "==7== a message of valgrind\nI  1ffeffe7c8e41,12\n".repeat(100_000);
        text += &"I  401,4\n M 10,8\n".repeat(900_000);
        let exact = 100_000 + 900_000 * 3;
        let estimated = estimate(Cursor::new(&text), text.len() as u64).unwrap();
        assert!(estimated.abs_diff(exact) * 50 < exact, "{estimated} of {exact}");
        let small = "I  401,4\n".repeat(1_000);
        assert_eq!(estimate(Cursor::new(&small), small.len() as u64).unwrap(), 1_000);
    }

    /// Only the middle half of each interval contains references.
    #[test]
    fn samples_are_in_the_middle_of_their_intervals() {
        let (reference, message) = ("I  401,4\n", "==7== me\n");
        let lines = (SAMPLE as usize).div_ceil(reference.len());
        let quarter = message.repeat(lines / 2);
        let interval = format!("{quarter}{}{quarter}", reference.repeat(lines));
        let text = interval.repeat(SAMPLES as usize);
        let estimated = estimate(Cursor::new(&text), text.len() as u64).unwrap();
        let all = (text.len() / reference.len()) as u64;
        assert!(estimated.abs_diff(all) * 50 < all, "{estimated} of {all}");
    }
}
