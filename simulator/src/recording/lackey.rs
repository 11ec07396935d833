//! Reads lackey's text in blocks of references.

use std::io;
use std::slice::{self, IterMut};

use super::chunk::Chunk;
use super::error::{RecordingError, quoted};
use super::line::{self, A_LINE, FastParser, MAX_LINE_BYTES};
use super::reference::{Kind, Reference};
use super::source::{BytesRead, Source};

/// The number of references in a block. A recording's last block may have fewer.
pub const BLOCK: usize = 1 << 16;

/// The maximum number of references that a block may have beyond [`BLOCK`]. They are data of the block's last instruction, and must
/// be in the same block as its fetch, because the fetch's kind is known only when all data have been read. No x86 instruction has
/// more data.
pub const BLOCK_SLACK: usize = 4096;

const BUFFER: usize = 1 << 18;

/// The expected content in the error about a first line in an unknown format.
const A_FORMAT: &str = "a recording of \"vfalls record\", lines of lackey such as \"I  04001090,3\" or \
                        \" L 1ffeffe7c8,8\", or lines by hand such as \"0 w 0x1000 8\"";

/// Reads lackey's text block by block, in constant memory.
pub(super) struct LackeyReader {
    source: Source,
    buffer: Box<[u8]>,
    /// `buffer[start..end]` is text that has been read but not parsed.
    start: usize,
    end: usize,
    /// The number of complete lines before `start`.
    lines: u64,
    fast: Box<FastParser>,
    in_message: bool,
    at_end: bool,
    any: bool,
    /// Storage for a block's references. All have the flow [`Next`](super::Flow::Next) and the class
    /// [`Other`](super::Class::Other).
    block: Box<[Reference]>,
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
            fast: Box::new(FastParser::new()),
            in_message: false,
            at_end: false,
            any: false,
            block: vec![Reference::new(0, 1, Kind::Load); BLOCK + BLOCK_SLACK].into(),
        }
    }

    pub(super) fn progress(&self) -> BytesRead {
        self.source.progress()
    }

    /// Replaces the content of `chunk` with the next references: [`BLOCK`] or a few more, and fewer only at the end. A fetch is in
    /// the same chunk as all of its data. At the end of the recording and after an error, returns `false` and an empty chunk.
    pub(super) fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        let mut block = std::mem::take(&mut self.block);
        let result = self.fill(Room::new(&mut block));
        let filled = *result.as_ref().unwrap_or(&0);
        chunk.set(&block[..filled]);
        self.block = block;
        self.any |= filled > 0;
        if result.is_err() {
            (self.start, self.end, self.at_end, self.any) = (0, 0, true, true);
        }
        result?;
        if self.any {
            return Ok(filled > 0);
        }
        self.any = true;
        let expected = "at least one, such as \"I  04001090,3\"";
        Err(RecordingError::in_file(&self.source.name, "no memory reference", expected))
    }

    /// Fills the room with references. Returns their number.
    fn fill(&mut self, mut room: Room<'_>) -> Result<usize, RecordingError> {
        loop {
            if !self.in_message {
                let text = &self.buffer[self.start..self.end];
                let filled = room.filled();
                let rest;
                (room, rest) = parse_fast(&mut self.fast, text, room);
                self.start = self.end - rest;
                self.lines += (room.filled() - filled) as u64;
            }
            let Some(length) = self.find_line()? else {
                break;
            };
            let text = &self.buffer[self.start..self.start + length];
            let reference = line::parse(text).map_err(|expected| {
                let is_known = self.any || room.filled() > 0 || expected != A_LINE;
                self.error(quoted(text), if is_known { expected } else { A_FORMAT })
            })?;
            if let Some(reference) = reference
                && !room.push(reference)
                && !room.push_behind(reference)
            {
                break;
            }
            // The last line may lack a newline.
            self.start = (self.start + length + 1).min(self.end);
            self.lines += 1;
        }
        Ok(room.filled())
    }

    /// Returns the length of the line at `start`, without its newline; `None` at the end of the recording. Skips valgrind's
    /// messages. Cuts off a line that is too long to be correct.
    fn find_line(&mut self) -> Result<Option<usize>, RecordingError> {
        loop {
            let held = &self.buffer[self.start..self.end];
            if self.in_message || [b"==", b"--", b"**"].iter().any(|mark| held.starts_with(*mark)) {
                let newline = held.iter().position(|&byte| byte == b'\n');
                self.in_message = newline.is_none();
                self.start = newline.map_or(self.end, |at| self.start + at + 1);
                self.lines += u64::from(newline.is_some());
                if newline.is_some() || self.read_more()? {
                    continue;
                }
                return Ok(None);
            }
            let beginning = &held[..held.len().min(MAX_LINE_BYTES + 1)];
            if let Some(length) = beginning.iter().position(|&byte| byte == b'\n') {
                return Ok(Some(length));
            }
            if beginning.len() > MAX_LINE_BYTES {
                return Ok(Some(beginning.len()));
            }
            if !self.read_more()? {
                let rest = self.end - self.start;
                return Ok((rest > 0).then_some(rest));
            }
        }
    }

    /// Reads more text and appends it to the buffer. Returns `false` at the end of the recording.
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
                    let found = self.source.failure(&error);
                    return Err(self.error(found, "the rest of the recording"));
                }
            }
        }
        Ok(false)
    }

    fn error(&self, found: String, expected: &'static str) -> RecordingError {
        RecordingError {
            line: Some(self.lines + 1),
            ..RecordingError::in_file(&self.source.name, found, expected)
        }
    }
}

/// Parses lines of the common kind, which have one reference. Stops at any other line, at the end of the text, or when the block is
/// full. Returns the length of the remaining text. The room is passed by value so that its parts stay in registers.
#[inline(never)]
fn parse_fast<'r>(fast: &mut FastParser, mut text: &[u8], room: Room<'r>) -> (Room<'r>, usize) {
    let Room { mut block, behind, mut fetch } = room;
    while let Some(window) = text.first_chunk()
        && let Some((reference, length)) = fast.parse(window)
        && let Some(place) = block.next()
    {
        put(place, reference, &mut fetch);
        text = &text[length..];
    }
    let room = Room { block, behind, fetch };
    (room, text.len())
}

/// Storage for one block's references.
struct Room<'r> {
    /// The block's free slots.
    block: IterMut<'r, Reference>,
    /// The free slots behind a full block, for data of its last instruction.
    behind: IterMut<'r, Reference>,
    /// The latest fetch, whose kind is known only when all its data have been read.
    fetch: Option<&'r mut Reference>,
}

impl<'r> Room<'r> {
    fn new(room: &'r mut [Reference]) -> Self {
        let (block, behind) = room.split_at_mut(BLOCK);
        Self { block: block.iter_mut(), behind: behind.iter_mut(), fetch: None }
    }

    /// Returns the number of references that have been stored.
    fn filled(&self) -> usize {
        BLOCK + BLOCK_SLACK - self.block.len() - self.behind.len()
    }

    /// Adds a line's references to the block. Returns `false` if the block is full.
    fn push(&mut self, reference: Reference) -> bool {
        let has_room = self.block.len() > 0;
        if has_room {
            self.put(reference);
        }
        has_room
    }

    /// Adds data of the last instruction behind a full block. Returns `false` if there is no room or if the reference is not such
    /// data. Also returns `false` if the instruction already loads and stores, because more data then cannot change the fetch's
    /// kind.
    fn push_behind(&mut self, reference: Reference) -> bool {
        let classes = |fetch: &Reference| fetch.kind != Kind::FetchModify;
        let needed = 1 + usize::from(reference.kind == Kind::Modify);
        let fits = !reference.kind.is_fetch()
            && self.behind.len() >= needed
            && self.fetch.as_deref().is_some_and(classes);
        if fits {
            self.put(reference);
        }
        fits
    }

    /// Stores a line's references in the next slots. An `M` line becomes a load and a store, because lackey does not tell whether
    /// the instruction is atomic.
    fn put(&mut self, reference: Reference) {
        let kinds: &[Kind] = match reference.kind {
            Kind::Modify => &[Kind::Load, Kind::Store],
            ref other => slice::from_ref(other),
        };
        for kind in kinds {
            if let Some(place) = self.block.next().or_else(|| self.behind.next()) {
                put(place, Reference { kind: *kind, ..reference }, &mut self.fetch);
            }
        }
    }
}

/// Stores a reference. If it is data, updates the latest fetch's kind.
#[inline(always)]
fn put<'r>(place: &'r mut Reference, reference: Reference, fetch: &mut Option<&'r mut Reference>) {
    // The flow and class of `place` are already right, because they are the same for all of lackey's references.
    (place.address, place.size, place.kind) = (reference.address, reference.size, reference.kind);
    if reference.kind.is_fetch() {
        *fetch = Some(place);
    } else if let Some(fetch) = fetch {
        fetch.accesses(reference.kind);
    }
}
