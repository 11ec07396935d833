//! A recording of any format.

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
    source: LackeyReader,
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
        let source = LackeyReader::open(path)?;
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
        let source = LackeyReader::from_reader(name, stream, total)?;
        Ok(Self { source })
    }

    /// Returns the name that stands for this recording in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Returns the number of threads. They have the numbers from 0, in the order in which they begin.
    #[must_use]
    pub fn threads(&self) -> usize {
        1
    }

    /// Returns the strand that the recording itself names for a thread, as text written by hand does.
    #[must_use]
    pub fn strand_of(&self, _thread: usize) -> Option<usize> {
        None
    }

    /// Returns `true` if the recording says how instructions pass control on: [`Reference::flow`](super::Reference::flow).
    #[must_use]
    pub fn has_flow(&self) -> bool {
        false
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
        self.source.progress()
    }

    /// Replaces the content of `chunk` by what a thread did next. Returns `false`, with an empty chunk, at the thread's end.
    ///
    /// # Errors
    /// The recording is damaged, cannot be read or decompressed, or has no reference at all. The thread is at its end
    /// thereafter.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        chunk.clear();
        if thread != 0 {
            return Ok(false);
        }
        self.source.next_block(&mut chunk.references)
    }
}
