//! A recording of any format.

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::chunk::Chunk;
use super::error::RecordingError;
use super::native::NativeReader;
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
    source: Format,
}

enum Format {
    Lackey(LackeyReader),
    Native(Box<NativeReader>),
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
        let mut magic = [0; 16];
        if let Ok(mut file) = std::fs::File::open(&path) {
            if file.read_exact(&mut magic).is_ok() && magic == super::native::FILE_HEADER {
                return Ok(Self {
                    source: Format::Native(Box::new(NativeReader::open(
                        &path.as_ref().to_string_lossy(),
                        file,
                    )?)),
                });
            }
        }
        let source = LackeyReader::open(path)?;
        Ok(Self {
            source: Format::Lackey(source),
        })
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
        Ok(Self {
            source: Format::Lackey(source),
        })
    }

    /// Returns the name that stands for this recording in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            Format::Lackey(r) => r.name(),
            Format::Native(r) => r.name(),
        }
    }

    /// Returns the number of threads. They have the numbers from 0, in the order in which they begin.
    #[must_use]
    pub fn threads(&self) -> usize {
        match &self.source {
            Format::Lackey(_) => 1,
            Format::Native(reader) => reader.threads(),
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
        matches!(self.source, Format::Native(_))
    }

    /// Returns the machine that the program is for, in the words of QEMU (`x86_64`, `sparc64`), if the recording has it.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        match &self.source {
            Format::Native(reader) => reader.target.as_deref(),
            Format::Lackey(_) => None,
        }
    }

    /// Returns the command line of the program, as for a shell, if the recording has it.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        match &self.source {
            Format::Native(reader) => reader.command.as_deref(),
            Format::Lackey(_) => None,
        }
    }

    /// Returns the files that the program had in memory, if the recording has them.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        match &self.source {
            Format::Native(reader) => &reader.mappings,
            Format::Lackey(_) => &[],
        }
    }

    /// Returns what somebody who reads results should know of the recording, such as that it is cut off: whole sentences
    /// without a full stop.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match &self.source {
            Format::Native(reader) => &reader.notes,
            Format::Lackey(_) => &[],
        }
    }

    /// Returns the progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.source {
            Format::Lackey(reader) => reader.progress(),
            Format::Native(reader) => reader.progress(),
        }
    }

    /// Replaces the content of `chunk` by what a thread did next. Returns `false`, with an empty chunk, at the thread's end.
    ///
    /// # Errors
    /// The recording is damaged, cannot be read or decompressed, or has no reference at all. The thread is at its end
    /// thereafter.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        chunk.clear();
        let source = match &mut self.source {
            Format::Lackey(r) => r,
            Format::Native(r) => return r.next_chunk(thread, chunk),
        };
        if thread != 0 {
            return Ok(false);
        }
        source.next_block(&mut chunk.references)
    }
}
