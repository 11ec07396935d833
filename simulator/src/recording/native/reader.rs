//! Reads native recordings, which consist of frames.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ruzstd::decoding::FrameDecoder;

use super::super::chunk::{Chunk, Executions};
use super::super::code::Code;
use super::super::content::MAGIC;
use super::super::error::RecordingError;
use super::super::info::RecordingInfo;
use super::super::source::{BytesRead, Source};
use super::cursor::Cursor;
use super::frame::{FrameHeader, MAX_CONTENT_BYTES, MAX_THREADS};
use super::templates::{Template, Templates};
use crate::text::line;
use refs::{
    FILE_HEADER, FRAME_HEADER, FrameKind, Mapping, Order, Process, Rest, SharedRange, VERSION, hash,
};

/// The maximum number of frames in a recording.
const MAX_FRAMES: usize = 1 << 22;

/// The maximum number of processes in a file.
const MAX_PROCESSES: usize = 1 << 16;

/// The maximum number of threads whose predictors are unpacked: one for each strand of the largest machine. An unpacked predictor
/// takes up to 320 KB.
const MAX_UNPACKED: usize = 256;

/// The maximum total size of all processes' descriptions, mappings and notes, in bytes.
const MAX_METADATA_BYTES: usize = 1 << 22;

const WHOLE: &str = "a whole frame of a recording";
const A_RECORDING: &str = "one of version 2";
const _: () = assert!(VERSION == 2, "the error says so");

pub(in super::super) struct NativeReader {
    name: String,
    /// The file, which holds the recordings of all processes. Their readers share it.
    file: Arc<Mutex<File>>,
    code: Arc<Code>,
    templates: Vec<Template>,
    /// The maximum number of data in a shape, and at least 1.
    most_data: usize,
    /// The number of slots of the data of all shapes.
    slots: usize,
    threads: Vec<ThreadFrames>,
    /// The threads whose predictors are unpacked, in the order in which they woke. Some may have ended.
    awake: VecDeque<usize>,
    decoder: FrameDecoder,
    stored: Vec<u8>,
    pub(in super::super) about: RecordingInfo,
    read: u64,
    total: u64,
    /// The position in the file at which the recording begins.
    begins: u64,
    /// The number of references in all frames.
    pub(in super::super) references: u64,
    /// The total size of the description, mappings and notes so far, in bytes.
    metadata_bytes: usize,
}

/// A thread's frames: their positions in the file, the number of frames that have been read, and the position in the current frame.
#[derive(Default)]
struct ThreadFrames {
    frames: Vec<u64>,
    next: usize,
    cursor: Option<Box<Cursor>>,
}

impl NativeReader {
    /// Reads a file up to its last complete frame. Returns a reader for each process that has a reference.
    pub(in super::super) fn all(source: Source) -> Result<Vec<Self>, RecordingError> {
        let name = source.name.clone();
        let file = Arc::new(Mutex::new(source.into_file()?));
        let mut readers = Vec::new();
        let (mut begins, mut metadata_bytes, mut threads) = (0, 0, 0);
        loop {
            let (reader, next) =
                Self::new(name.clone(), Arc::clone(&file), begins, metadata_bytes)?;
            (metadata_bytes, threads) = (reader.metadata_bytes, threads + reader.threads.len());
            if threads > MAX_THREADS as usize {
                let many = format!("more than {MAX_THREADS} threads");
                return Err(RecordingError::in_file(&name, many, "fewer"));
            }
            readers.push(reader);
            match next {
                Some(_) if readers.len() == MAX_PROCESSES => {
                    let many = format!("more than {MAX_PROCESSES} processes");
                    return Err(RecordingError::in_file(&name, many, "fewer"));
                }
                Some(next) => begins = next,
                None => break,
            }
        }
        let mut notes = (Vec::new(), Vec::new());
        readers.retain_mut(|reader| {
            let is_kept = !reader.threads.is_empty();
            if !is_kept {
                notes.0.append(&mut reader.about.notes);
                notes.1.append(&mut reader.about.missing);
            }
            is_kept
        });
        let first = readers
            .first_mut()
            .ok_or_else(|| RecordingError::in_file(&name, "no memory reference", "at least one"))?;
        first.about.notes.splice(..0, notes.0);
        first.about.missing.splice(..0, notes.1);
        Ok(readers)
    }

    /// Reads a recording that begins at a position in the file, up to its last complete frame. `metadata_bytes` is the total size of all
    /// earlier processes' descriptions. Also returns the position of the next process's recording; `None` if there is none.
    fn new(
        name: String,
        file: Arc<Mutex<File>>,
        begins: u64,
        metadata_bytes: usize,
    ) -> Result<(Self, Option<u64>), RecordingError> {
        let mut reader = Self {
            name,
            file,
            code: Arc::default(),
            templates: Vec::new(),
            most_data: 1,
            slots: 0,
            threads: Vec::new(),
            awake: VecDeque::new(),
            decoder: FrameDecoder::new(),
            stored: Vec::new(),
            about: RecordingInfo::default(),
            read: FILE_HEADER.len() as u64,
            total: 0,
            begins,
            references: 0,
            metadata_bytes,
        };
        reader.decoder.set_max_window_size(MAX_CONTENT_BYTES.into());
        let mut templates = Templates::new();
        let next = reader.scan(&mut templates)?;
        let (code, templates) = templates.complete();
        reader.most_data = templates.iter().map(|one| one.data.max(1).into()).max().unwrap_or(1);
        let slots = templates.iter().map(|one| one.slot as usize + usize::from(one.data));
        reader.slots = slots.max().unwrap_or(0);
        (reader.code, reader.templates) = (Arc::new(code), templates);
        Ok((reader, next))
    }

    /// Reads all headers, and the content of all frames without references. Returns the position of the next process's recording.
    fn scan(&mut self, templates: &mut Templates) -> Result<Option<u64>, RecordingError> {
        let begins = self.begins;
        let mut at = begins + FILE_HEADER.len() as u64;
        let mut frames = 0;
        let mut content = Vec::new();
        let mut header = [0; FILE_HEADER.len()];
        let header = self.read_at(begins, &mut header).map(|()| header);
        if header.as_ref().ok() != Some(&FILE_HEADER) {
            let found = match header.ok().and_then(|header| Some(*header[8..].first_chunk()?)) {
                Some(version) => format!("a recording of version {}", u32::from_le_bytes(version)),
                None => String::from("the start of a recording"),
            };
            return Err(RecordingError::in_file(&self.name, found, A_RECORDING));
        }
        let length = self.file().seek(SeekFrom::End(0));
        let length = length.map_err(|error| self.unreadable(&error))?;
        while at < length {
            let Some(header) = self.header(at)? else {
                break;
            };
            let end = at + FRAME_HEADER as u64 + u64::from(header.stored);
            if end > length {
                break;
            }
            frames += 1;
            if frames > MAX_FRAMES {
                return Err(self.damaged(at, "too many frames"));
            }
            if header.kind == FrameKind::References as u8 {
                let thread = header.thread as usize;
                if self.threads.len() <= thread {
                    self.threads.resize_with(thread + 1, ThreadFrames::default);
                }
                self.threads[thread].frames.push(at);
                self.references += header.references;
            } else {
                self.content(at, &header, &mut content)?;
                self.interpret_frame(&header, &content, templates)
                    .ok_or_else(|| self.damaged(at, "a malformed frame"))?;
                if header.kind == FrameKind::End as u8 {
                    self.total = end - begins;
                    if end == length {
                        return Ok(None);
                    }
                    let mut magic = [0; MAGIC.len()];
                    return match self.read_at(end, &mut magic) {
                        Ok(()) if magic == MAGIC => Ok(Some(end)),
                        _ => Err(self.damaged(end, "unexpected data after the end")),
                    };
                }
            }
            at = end;
        }
        self.total = at - begins;
        let note = match at == length {
            true => "has no end: the recorder is still running or was killed".to_owned(),
            false => format!("is cut off: it is read up to byte {at} of {length}"),
        };
        self.about.notes.push(format!("{} {note}", self.name));
        Ok(None)
    }

    /// Interprets a frame without references. Returns `None` if its content is malformed.
    fn interpret_frame(
        &mut self,
        header: &FrameHeader,
        content: &[u8],
        templates: &mut Templates,
    ) -> Option<()> {
        const PROGRAM: u8 = FrameKind::Program as u8;
        const MAPPINGS: u8 = FrameKind::Mappings as u8;
        const DEFINITIONS: u8 = FrameKind::Definitions as u8;
        const NOTE: u8 = FrameKind::Note as u8;
        const MISSING: u8 = FrameKind::Missing as u8;
        const PROCESS: u8 = FrameKind::Process as u8;
        const END: u8 = FrameKind::End as u8;
        let mut rest = Rest(content);
        match header.kind {
            DEFINITIONS => return templates.add(content),
            PROGRAM => {
                self.add_metadata(1 + content.len())?;
                self.about.target = Some(line(rest.text()?));
                let mut words = Vec::new();
                for _ in 0..rest.varint()? {
                    words.push(quoted_for_shell(&line(rest.text()?)));
                }
                self.about.command = Some(words.join(" "));
            }
            MAPPINGS => {
                self.add_metadata(content.len())?;
                for _ in 0..rest.varint()? {
                    let (start, length, offset) = (rest.varint()?, rest.varint()?, rest.varint()?);
                    let path = rest.text()?.to_owned();
                    let build_id = rest.varint()?;
                    self.about.mappings.push(Mapping {
                        start,
                        end: start.checked_add(length)?,
                        offset,
                        path,
                        build_id: rest.bytes(build_id)?.to_vec(),
                    });
                }
            }
            NOTE | MISSING => {
                self.add_metadata(1 + content.len())?;
                let length = content.len() as u64;
                let note = line(str::from_utf8(rest.bytes(length)?).ok()?);
                if header.kind == MISSING {
                    self.about.missing.push(note.clone());
                }
                self.about.notes.push(note);
            }
            PROCESS => {
                self.add_metadata(1 + content.len())?;
                let number = u32::try_from(rest.varint()?).ok()?;
                let ends = u32::try_from(rest.varint()?).ok()?.checked_sub(1);
                let mut shared = Vec::new();
                for _ in 0..rest.varint()? {
                    let (start, length) = (rest.varint()?, rest.varint()?);
                    shared.push(SharedRange {
                        start,
                        end: start.checked_add(length)?,
                        owner: u32::try_from(rest.varint()?).ok()?,
                        owner_start: rest.varint()?,
                    });
                }
                self.about.process = Process { number, ends, shared };
            }
            END if content.len() <= 1 => {
                let length = content.len() as u64;
                rest.bytes(length)?;
            }
            _ => return None,
        }
        rest.0.is_empty().then_some(())
    }

    /// Adds to the total size of descriptions, mappings and notes. Returns `None` if it becomes too large.
    fn add_metadata(&mut self, bytes: usize) -> Option<()> {
        self.metadata_bytes = self
            .metadata_bytes
            .checked_add(bytes)
            .filter(|metadata_bytes| *metadata_bytes <= MAX_METADATA_BYTES)?;
        Some(())
    }

    /// Reads the header at a position; `None` if the file ends within the header.
    fn header(&mut self, at: u64) -> Result<Option<FrameHeader>, RecordingError> {
        let mut bytes = [0; FRAME_HEADER];
        match self.read_at(at, &mut bytes) {
            Ok(()) => match FrameHeader::new(&bytes) {
                Some(header) => Ok(Some(header)),
                None => Err(self.damaged(at, "a damaged header")),
            },
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = self.file();
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads, checks and decompresses a frame's content.
    fn content(
        &mut self,
        at: u64,
        header: &FrameHeader,
        content: &mut Vec<u8>,
    ) -> Result<(), RecordingError> {
        let mut stored = std::mem::take(&mut self.stored);
        stored.resize(header.stored as usize, 0);
        let read = self.read_at(at + FRAME_HEADER as u64, &mut stored);
        read.map_err(|error| self.unreadable(&error))?;
        if hash(&stored) != header.sum {
            return Err(self.damaged(at, "damaged data"));
        }
        content.clear();
        content.resize(header.content as usize, 0);
        if header.is_zstd {
            match self.decoder.decode_all(&stored, content) {
                Ok(length) if length == content.len() => {}
                _ => return Err(self.damaged(at, "damaged zstd data")),
            }
        } else {
            content.copy_from_slice(&stored);
        }
        self.read += FRAME_HEADER as u64 + u64::from(header.stored);
        self.stored = stored;
        Ok(())
    }

    pub(in super::super) fn next_chunk(
        &mut self,
        thread: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        let Some(mut this) = self.threads.get_mut(thread).map(std::mem::take) else {
            chunk.clear();
            return Ok(false);
        };
        if this.cursor.get_or_insert_default().wake(self.slots) {
            self.awake.push_back(thread);
            if self.awake.len() > MAX_UNPACKED {
                let first = self.awake.pop_front().and_then(|first| self.threads.get_mut(first));
                first
                    .and_then(|first| first.cursor.as_mut())
                    .into_iter()
                    .for_each(|one| one.wait());
            }
        }
        let (executions, order) = chunk.begin(&self.code);
        let result = self.fill(&mut this, executions, order);
        if self.threads.len() > MAX_UNPACKED {
            executions.shrink();
        }
        if !matches!(result, Ok(true)) {
            this = ThreadFrames::default();
            chunk.clear();
        }
        self.threads[thread] = this;
        result
    }

    fn fill(
        &mut self,
        thread: &mut ThreadFrames,
        chunk: &mut Executions,
        order: &mut Vec<(usize, Order)>,
    ) -> Result<bool, RecordingError> {
        let cursor = thread.cursor.get_or_insert_default();
        loop {
            let at = thread.next.checked_sub(1).map_or(0, |latest| thread.frames[latest]);
            match cursor.fill(&self.templates, self.most_data, chunk, order) {
                Some(true) => return Ok(true),
                Some(false) => {}
                None => return Err(self.damaged(at, "malformed references")),
            }
            let Some(&at) = thread.frames.get(thread.next) else {
                return Ok(chunk.length > 0 || !order.is_empty());
            };
            thread.next += 1;
            let header = self.header(at)?.ok_or_else(|| self.damaged(at, "nothing"))?;
            self.content(at, &header, &mut cursor.content)?;
            cursor
                .begin(header.references)
                .ok_or_else(|| self.damaged(at, "malformed references"))?;
        }
    }

    pub(in super::super) fn threads(&self) -> usize {
        self.threads.len()
    }

    pub(in super::super) fn progress(&self) -> BytesRead {
        BytesRead { read: self.read, total: Some(self.total) }
    }

    fn damaged(&self, at: u64, what: &str) -> RecordingError {
        RecordingError::in_file(&self.name, format!("{what} at byte {at}"), WHOLE)
    }

    fn unreadable(&self, error: &io::Error) -> RecordingError {
        RecordingError::in_file(
            &self.name,
            format!("unreadable data ({})", line(&error.to_string())),
            WHOLE,
        )
    }
}

/// Quotes a word of a command line for a shell.
fn quoted_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "%+,-./:=@_".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
