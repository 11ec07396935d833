//! A recording of any format.

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::chunk::Chunk;
use super::error::RecordingError;
use super::native::NativeReader;
use super::reader::LackeyReader;
use super::source::{Content, Progress, Source};
use super::text;
use super::threads::Threads;

/// A file that the recorded program had in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address of its first byte.
    pub start: u64,
    /// The address after its last byte.
    pub end: u64,
    /// The position of the first byte in the file.
    pub offset: u64,
    /// The file.
    pub path: String,
    /// The build id in the file; empty if it has none.
    pub build_id: Vec<u8>,
}

/// A recording of a program, whose threads are read each by itself.
pub struct Recording {
    format: Format,
}

enum Format {
    Native(Box<NativeReader>),
    Lackey(LackeyReader),
    Memory(Threads),
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recording").field(&self.name()).finish()
    }
}

impl Recording {
    /// Opens a recording of any [format](super), plain or compressed; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened or read, is a directory, or is compressed in an unknown way. A recording made by `record` or
    /// written by hand is malformed or too large, or there is no room to decompress it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        Source::open(path.as_ref()).and_then(Self::new)
    }

    /// Reads a recording, plain or compressed, from `stream`. `name` stands for it in errors; `total` is its length in
    /// bytes, where known.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_reader(
        name: &str,
        stream: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Self, RecordingError> {
        Source::from_reader(name, stream, total).and_then(Self::new)
    }

    fn new(source: Source) -> Result<Self, RecordingError> {
        let format = match source.content() {
            Content::Native => Format::Native(Box::new(NativeReader::new(source)?)),
            Content::Text => Format::Memory(text::read(source)?),
            Content::Lackey => Format::Lackey(LackeyReader::new(source)),
        };
        Ok(Self { format })
    }

    /// Returns a recording of these threads, each with what it did in pieces. It has flow. `name` stands for it in errors.
    #[must_use]
    pub fn from_threads(name: &str, threads: Vec<Vec<Chunk>>) -> Self {
        let format = Format::Memory(Threads::new(name, threads));
        Self { format }
    }

    /// Returns the name that stands for this recording in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.format {
            Format::Native(reader) => reader.name(),
            Format::Lackey(reader) => reader.name(),
            Format::Memory(memory) => &memory.name,
        }
    }

    /// Returns the number of threads. They have the numbers from 0, in the order in which they begin.
    #[must_use]
    pub fn threads(&self) -> usize {
        match &self.format {
            Format::Native(reader) => reader.threads(),
            Format::Lackey(_) => 1,
            Format::Memory(memory) => memory.threads.len(),
        }
    }

    /// Returns the strand that the recording itself names for a thread, as text written by hand does.
    #[must_use]
    pub fn strand_of(&self, thread: usize) -> Option<usize> {
        match &self.format {
            Format::Memory(memory) => memory.strands.get(thread).copied(),
            _ => None,
        }
    }

    /// Returns `true` if the recording says how instructions pass control on: [`Reference::flow`](super::Reference::flow).
    #[must_use]
    pub fn has_flow(&self) -> bool {
        match &self.format {
            Format::Native(_) => true,
            Format::Lackey(_) => false,
            Format::Memory(memory) => memory.strands.is_empty(),
        }
    }

    /// Returns the machine that the program is for, in the words of QEMU (`x86_64`, `sparc64`), if the recording has it.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.native().and_then(|reader| reader.target.as_deref())
    }

    /// Returns the command line of the program, as for a shell, if the recording has it.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.native().and_then(|reader| reader.command.as_deref())
    }

    /// Returns the files that the program had in memory, if the recording has them.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        self.native().map_or(&[], |reader| &reader.mappings)
    }

    /// Returns what somebody who reads results should know of the recording, such as that it is cut off: whole sentences
    /// without a full stop.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        self.native().map_or(&[], |reader| &reader.notes)
    }

    fn native(&self) -> Option<&NativeReader> {
        match &self.format {
            Format::Native(reader) => Some(reader),
            _ => None,
        }
    }

    /// Returns the progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.format {
            Format::Native(reader) => reader.progress(),
            Format::Lackey(reader) => reader.progress(),
            Format::Memory(memory) => memory.progress,
        }
    }

    /// Replaces the content of `chunk` by what a thread did next. Returns `false`, with an empty chunk, at the thread's end.
    ///
    /// # Errors
    /// The recording is damaged, cannot be read or decompressed, or has no reference at all. The thread is at its end
    /// thereafter.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        match &mut self.format {
            Format::Native(reader) => reader.next_chunk(thread, chunk),
            Format::Lackey(reader) if thread == 0 => {
                chunk.order.clear();
                chunk.refill(|block| reader.next_block(block))
            }
            Format::Lackey(_) => {
                chunk.clear();
                Ok(false)
            }
            Format::Memory(memory) => Ok(memory.next_chunk(thread, chunk)),
        }
    }
}
