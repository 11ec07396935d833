//! A recording of any format.

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::path::Path;

use super::chunk::Chunk;
use super::error::RecordingError;
use super::reader::{LackeyReader, Progress};

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
    source: Source,
}

/// Where the references come from.
enum Source {
    Lackey(LackeyReader),
    Memory(Threads),
}

/// Threads in memory.
struct Threads {
    name: String,
    threads: Vec<VecDeque<Chunk>>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recording").field(&self.name()).finish()
    }
}

impl Recording {
    /// Opens a recording, plain or compressed; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened or read, is a directory, or is compressed in an unknown way.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let source = Source::Lackey(LackeyReader::open(path)?);
        Ok(Self { source })
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
        let source = Source::Lackey(LackeyReader::from_reader(name, stream, total)?);
        Ok(Self { source })
    }

    /// Returns a recording of these threads, each with what it did in pieces. It has flow. `name` stands for it in errors.
    #[must_use]
    pub fn from_threads(name: &str, threads: Vec<Vec<Chunk>>) -> Self {
        let source = Source::Memory(Threads {
            name: name.to_owned(),
            threads: threads.into_iter().map(VecDeque::from).collect(),
        });
        Self { source }
    }

    /// Returns the name that stands for this recording in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Lackey(reader) => reader.name(),
            Source::Memory(memory) => &memory.name,
        }
    }

    /// Returns the number of threads. They have the numbers from 0, in the order in which they begin.
    #[must_use]
    pub fn threads(&self) -> usize {
        match &self.source {
            Source::Lackey(_) => 1,
            Source::Memory(memory) => memory.threads.len(),
        }
    }

    /// Returns the strand that the recording itself names for a thread, as text written by hand does.
    #[must_use]
    pub fn strand_of(&self, _thread: usize) -> Option<usize> {
        None
    }

    /// Returns `true` if the recording says how instructions pass control on: [`Reference::flow`](super::Reference::flow).
    #[must_use]
    pub fn has_flow(&self) -> bool {
        matches!(self.source, Source::Memory(_))
    }

    /// Returns the command line of the program, if the recording has it.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        None
    }

    /// Returns the files that the program had in memory, if the recording has them.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        &[]
    }

    /// Returns what somebody who reads results should know of the recording, such as that it is cut off: whole sentences
    /// without a full stop.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &[]
    }

    /// Returns the progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.source {
            Source::Lackey(reader) => reader.progress(),
            Source::Memory(_) => Progress {
                read: 0,
                total: Some(0),
            },
        }
    }

    /// Replaces the content of `chunk` by what a thread did next. Returns `false`, with an empty chunk, at the thread's end.
    ///
    /// # Errors
    /// The recording is damaged, cannot be read or decompressed, or has no reference at all. The thread is at its end
    /// thereafter.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        chunk.clear();
        match &mut self.source {
            Source::Lackey(reader) if thread == 0 => reader.next_block(&mut chunk.references),
            Source::Lackey(_) => Ok(false),
            Source::Memory(memory) => {
                let next = memory.threads.get_mut(thread).and_then(VecDeque::pop_front);
                Ok(next.is_some_and(|next| {
                    *chunk = next;
                    true
                }))
            }
        }
    }
}
