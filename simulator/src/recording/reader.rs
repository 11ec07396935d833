//! From lackey's text to blocks of references.

use std::io;

use super::error::{RecordingError, quoted};
use super::line::{self, Access, LONGEST, WINDOW};
use super::source::{Progress, Source};
use super::{Kind, Reference};

/// A block has this many references, the last one of a recording fewer.
pub const BLOCK: usize = 1 << 16;

/// A block is longer than [`BLOCK`] by at most this, so that an instruction and its data are never parted. (An
/// instruction with still more data has its class from what is in the block. No instruction of x86 comes near.)
pub const BLOCK_SLACK: usize = 4096;

const BUFFER: usize = 1 << 18;

/// No fetch in this block yet.
const NONE: usize = usize::MAX;

/// Reads what lackey wrote, block by block, in constant memory.
pub(super) struct LackeyReader {
    source: Source,
    buffer: Box<[u8]>,
    /// What is read and not yet parsed: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Complete lines before `start`.
    lines: u64,
    in_message: bool,
    at_end: bool,
    any: bool,
}

impl LackeyReader {
    pub(super) fn new(source: Source) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self {
            source,
            buffer,
            start: 0,
            end: 0,
            lines: 0,
            in_message: false,
            at_end: false,
            any: false,
        }
    }

    /// The name that stands for this recording in errors.
    pub(super) fn name(&self) -> &str {
        &self.source.name
    }

    /// Returns the progress.
    pub(super) fn progress(&self) -> Progress {
        self.source.progress()
    }

    /// Replaces the content of `block` by the next references, [`BLOCK`] or a few more, fewer only at the end. A
    /// fetch is in one block with all its data. False, and an empty block, once the recording is at its end.
    ///
    /// # Errors
    /// A line is malformed, the file cannot be read or decompressed, or the whole recording has no reference. The
    /// reader is at its end thereafter.
    pub(super) fn next_block(
        &mut self,
        block: &mut Vec<Reference>,
    ) -> Result<bool, RecordingError> {
        block.clear();
        block.reserve(BLOCK + BLOCK_SLACK);
        let result = self.fill_block(block);
        if result.is_err() {
            (self.start, self.end, self.at_end, self.any) = (0, 0, true, true);
            block.clear();
        }
        result.map(|()| !block.is_empty())
    }

    fn fill_block(&mut self, block: &mut Vec<Reference>) -> Result<(), RecordingError> {
        let mut fetch = Fetch { at: NONE, data: 0 };
        loop {
            self.parse_fast(block, &mut fetch);
            let Some(length) = self.find_line()? else {
                break;
            };
            let text = &self.buffer[self.start..self.start + length];
            let access =
                line::parse(text).map_err(|expected| self.error(quoted(text), expected))?;
            if let Some(access) = access {
                let may_end =
                    access.code == 0 || fetch.is_settled() || block.len() >= BLOCK + BLOCK_SLACK;
                if block.len() >= BLOCK && may_end {
                    break;
                }
                fetch.push(block, access);
            }
            // At the end of the text the newline may be missing.
            self.start = (self.start + length + 1).min(self.end);
            self.lines += 1;
        }
        self.any |= !block.is_empty();
        if self.any {
            return Ok(());
        }
        let expected = "at least one, such as \"I  04001090,3\"";
        Err(RecordingError::of_file(
            self.name(),
            "no memory reference",
            expected,
        ))
    }

    /// Parses lines of the common form, up to the first that is not, the end of the buffer, or a full block.
    // Apart from the rest, so that the loop has the registers to itself.
    #[inline(never)]
    fn parse_fast(&mut self, block: &mut Vec<Reference>, fetch: &mut Fetch) {
        let before = block.len();
        if self.in_message {
            return;
        }
        let mut rest = &self.buffer[self.start..self.end];
        let mut latest = Fetch { ..*fetch };
        while block.len() < BLOCK
            && let Some((access, length)) = rest.first_chunk::<WINDOW>().and_then(line::fast)
        {
            latest.push(block, access);
            rest = &rest[length..];
        }
        *fetch = latest;
        self.start = self.end - rest.len();
        self.lines += (block.len() - before) as u64;
    }

    /// The length of the line at `start`, without its newline; messages of valgrind are passed over. None at the end
    /// of the recording. A line that is too long to be right is cut off.
    fn find_line(&mut self) -> Result<Option<usize>, RecordingError> {
        loop {
            let held = &self.buffer[self.start..self.end];
            if self.in_message
                || [b"==", b"--", b"**"]
                    .iter()
                    .any(|mark| held.starts_with(*mark))
            {
                let newline = held.iter().position(|&byte| byte == b'\n');
                self.in_message = newline.is_none();
                self.start = newline.map_or(self.end, |at| self.start + at + 1);
                self.lines += u64::from(newline.is_some());
                if newline.is_some() || self.read_more()? {
                    continue;
                }
                return Ok(None);
            }
            let beginning = &held[..held.len().min(LONGEST + 1)];
            if let Some(length) = beginning.iter().position(|&byte| byte == b'\n') {
                return Ok(Some(length));
            }
            if beginning.len() > LONGEST {
                return Ok(Some(beginning.len()));
            }
            if !self.read_more()? {
                let rest = self.end - self.start;
                return Ok((rest > 0).then_some(rest));
            }
        }
    }

    /// Reads on, behind what is held; false at the end of the text.
    fn read_more(&mut self) -> Result<bool, RecordingError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while !self.at_end {
            match self.source.text.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(
                        self.error(self.source.failure(&error), "the rest of the recording")
                    );
                }
            }
        }
        Ok(false)
    }

    fn error(&self, found: String, expected: &'static str) -> RecordingError {
        RecordingError {
            line: Some(self.lines + 1),
            ..RecordingError::of_file(self.name(), found, expected)
        }
    }
}

/// The latest fetch of a block, whose class is known once all its data has been seen.
struct Fetch {
    at: usize,
    /// The codes of its data so far, or-ed.
    data: u8,
}

impl Fetch {
    /// Returns `true` if further data changes no class.
    fn is_settled(&self) -> bool {
        self.at == NONE || self.data == 3
    }

    #[inline(always)]
    fn push(&mut self, block: &mut Vec<Reference>, access: Access) {
        const KINDS: [Kind; 4] = [Kind::FetchOther, Kind::Load, Kind::Store, Kind::Modify];
        let code = access.code & 3;
        if code == 0 {
            (self.at, self.data) = (block.len(), 0);
        } else {
            self.data |= code;
        }
        block.push(Reference::new(
            access.address,
            access.size,
            KINDS[usize::from(code)],
        ));
        if let Some(fetch) = block.get_mut(self.at) {
            fetch.kind = Kind::FETCHES[usize::from(self.data & 3)];
        }
    }
}
