//! The recording of one process, while it is being written.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use anyhow::Context;
use refs::{
    FILE_HEADER, FRAME_HEADER, Frame, FrameKind, Process, Program, SharedRange, Stored, with_data,
};
use zstd::bulk::Compressor;

/// The maximum number of bytes to copy in one step.
const MAX_COPY_BYTES: u64 = 1 << 20;

/// The size of a page of the recorded program's memory, in bytes.
const PAGE: u64 = 4096;

/// A file to which recordings are appended.
pub(super) struct Store {
    file: File,
    length: u64,
}

impl Store {
    /// Returns a store that uses `file`. The file must be empty, and open for reading and appending.
    pub(super) fn new(file: File) -> Self {
        Self { file, length: 0 }
    }

    /// Appends bytes, and returns their position.
    fn append(&mut self, bytes: &[u8]) -> io::Result<Range<u64>> {
        self.file.write_all(bytes)?;
        let start = self.length;
        self.length += bytes.len() as u64;
        Ok(start..self.length)
    }

    fn read(&mut self, at: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (at.end - at.start) as usize];
        self.file.seek(SeekFrom::Start(at.start))?;
        self.file.read_exact(&mut bytes)?;
        self.file.seek(SeekFrom::End(0))?;
        Ok(bytes)
    }

    /// Returns the number of bytes that have been appended.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

/// The recording of one process. Its bytes are in a [`Store`], which several recordings may share.
pub(super) struct ProcessRecording {
    /// The positions of the recording's bytes in the store.
    pieces: Vec<Range<u64>>,
    target: String,
    command: Vec<String>,
    pub(super) references: u64,
    pub(super) instructions: u64,
    pub(super) threads: u32,
    /// The process id; `None` until the process begins.
    pub(super) id: Option<u32>,
    /// The number of the first process with the same [`id`](Self::id).
    pub(super) first: u32,
    /// The number of the process that continues this process with another program.
    pub(super) continued: Option<u32>,
    /// The unrecorded program that replaced the process's program.
    pub(super) replaced_by: Option<String>,
    pub(super) end: ProcessEnd,
    /// The memory that the process shares. A range that is mapped from a file comes with the part of the file.
    shared: Vec<(SharedRange, Option<FilePart>)>,
    /// The store positions of the definition frames.
    definitions: Vec<Range<u64>>,
}

/// A part of a file that processes map into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePart {
    /// The file's device and inode numbers.
    pub(super) file: String,
    pub(super) offset: u64,
}

/// How a recorded process ended.
pub(super) enum ProcessEnd {
    /// The recorder was killed, and has not announced the end.
    Killed,
    /// The recorder has sent everything.
    Exit,
    /// The recorder ended the process, for this reason.
    Ended(String),
}

impl ProcessRecording {
    /// Begins the recording of a process.
    pub(super) fn new(
        store: &mut Store,
        target: &str,
        command: Vec<String>,
        first: u32,
    ) -> io::Result<Self> {
        let mut part = Self {
            pieces: Vec::new(),
            target: target.to_owned(),
            command: command.clone(),
            references: 0,
            instructions: 0,
            threads: 0,
            id: None,
            first,
            continued: None,
            replaced_by: None,
            end: ProcessEnd::Killed,
            shared: Vec::new(),
            definitions: Vec::new(),
        };
        part.append(store, &FILE_HEADER)?;
        let target = target.to_owned();
        part.frame(store, &Frame::program(&Program { target, command }))?;
        Ok(part)
    }

    /// Begins the recording of process `number`, which this process forks. The new process shares the memory that this process shares.
    pub(super) fn fork(&self, store: &mut Store, number: u32) -> io::Result<Self> {
        let part = Self::new(store, &self.target, self.command.clone(), number)?;
        Ok(Self { shared: self.shared.clone(), ..part })
    }

    /// Returns the first `count` definition frames.
    pub(super) fn definitions(&self, store: &mut Store, count: usize) -> io::Result<Vec<Vec<u8>>> {
        self.definitions.iter().take(count).map(|at| store.read(at.clone())).collect()
    }

    /// Adds definition frames.
    pub(super) fn define(&mut self, store: &mut Store, frames: &[Vec<u8>]) -> io::Result<()> {
        for frame in frames {
            let at = self.append(store, frame)?;
            self.definitions.push(at);
        }
        Ok(())
    }

    /// Returns the name of the program.
    pub(super) fn name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    fn append(&mut self, store: &mut Store, bytes: &[u8]) -> io::Result<Range<u64>> {
        let at = store.append(bytes)?;
        match self.pieces.last_mut() {
            Some(last) if last.end == at.start => last.end = at.end,
            _ => self.pieces.push(at.clone()),
        }
        Ok(at)
    }

    /// Writes a frame uncompressed.
    pub(super) fn frame(&mut self, store: &mut Store, frame: &Frame) -> io::Result<()> {
        let header = frame.header(Stored::Plain, &frame.content);
        self.append(store, &[&header, &*frame.content].concat()).map(drop)
    }

    /// Compresses the frames that the recorder sent, and writes them.
    pub(super) fn frames(
        &mut self,
        store: &mut Store,
        compressor: &mut Compressor<'_>,
        bytes: &[u8],
    ) -> anyhow::Result<()> {
        let mut rest = bytes;
        while let Some((header, after)) = rest.split_first_chunk::<FRAME_HEADER>() {
            let length = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
            let (content, after) = after
                .split_at_checked(length as usize)
                .context("the recorder has written half a frame")?;
            let data = compressor.compress(content)?;
            let frame = match data.len() < content.len() {
                true => [&with_data(*header, Stored::Zstd, &data), &*data].concat(),
                false => [header, content].concat(),
            };
            let at = self.append(store, &frame)?;
            if header[0] == FrameKind::Definitions as u8 {
                self.definitions.push(at);
            }
            rest = after;
        }
        Ok(())
    }

    /// Notes that the process has mapped memory that it shares with other processes. `owner` is the process that first mapped this memory,
    /// with the memory's address in that process.
    pub(super) fn share(
        &mut self,
        start: u64,
        length: u64,
        file: Option<FilePart>,
        owner: (u32, u64),
    ) {
        let end = start.saturating_add(length).next_multiple_of(PAGE);
        self.shared.retain(|(range, _)| range.end <= start || end <= range.start);
        let range = SharedRange { start, end, owner: owner.0, owner_start: owner.1 };
        self.shared.push((range, file));
    }

    /// If this process has mapped the start of `part`, returns three values: the process that first mapped this part of the file, the
    /// part's address in that process, and the number of bytes from this address to the end of the mapping. Otherwise, returns `None`.
    pub(super) fn owner(&self, part: &FilePart) -> Option<(u32, u64, u64)> {
        self.shared.iter().find_map(|(range, mapped)| {
            let mapped = mapped.as_ref().filter(|mapped| mapped.file == part.file)?;
            let within = part.offset.checked_sub(mapped.offset)?;
            let left = (range.end - range.start).checked_sub(within).filter(|left| *left > 0)?;
            Some((range.owner, range.owner_start.wrapping_add(within), left))
        })
    }

    /// Completes the recording. `process` is the number of the process.
    pub(super) fn complete(
        &mut self,
        store: &mut Store,
        process: u32,
        status: Option<u8>,
    ) -> io::Result<()> {
        let ends = match self.continued {
            Some(_) => None,
            None => Some(self.first),
        };
        let shared = self.shared.iter().map(|(range, _)| *range).collect();
        self.frame(store, &Frame::process(&Process { number: process, ends, shared }))?;
        self.frame(store, &Frame::end(self.references, status))
    }

    /// Copies this recording to another store.
    pub(super) fn copy(&self, from: &mut Store, to: &mut Store) -> io::Result<()> {
        for piece in &self.pieces {
            let mut at = piece.start;
            while at < piece.end {
                let end = piece.end.min(at + MAX_COPY_BYTES);
                to.append(&from.read(at..end)?)?;
                at = end;
            }
        }
        Ok(())
    }
}

/// Returns the words of a command line as text.
pub(super) fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
