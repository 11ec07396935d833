//! A recording of any format.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::thread;

use serde::{Deserialize, Serialize};

use super::ahead::Ahead;
use super::chunk::Chunk;
use super::error::RecordingError;
use super::native::NativeReader;
use super::reader::LackeyReader;
use super::source::{Content, Progress, Source};
use super::text;
use super::threads::Threads;

/// A file that the recorded program had in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    about: About,
    reader: Reader,
}

/// What is known of a recording before its threads are read.
#[derive(Default)]
struct About {
    name: String,
    threads: usize,
    /// The strands of the threads, if the recording says them.
    strands: Vec<usize>,
    has_flow: bool,
    target: Option<String>,
    command: Option<String>,
    mappings: Vec<Mapping>,
    notes: Vec<String>,
}

/// What reads the threads.
pub(super) enum Reader {
    Native(Box<NativeReader>),
    Lackey(Box<LackeyReader>),
    Memory(Threads),
    Ahead(Box<Ahead>),
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
        let name = source.name.clone();
        Ok(match source.content() {
            Content::Native => {
                let mut reader = NativeReader::new(source)?;
                Self {
                    about: About {
                        name,
                        threads: reader.threads(),
                        has_flow: true,
                        target: reader.target.take(),
                        command: reader.command.take(),
                        mappings: std::mem::take(&mut reader.mappings),
                        notes: std::mem::take(&mut reader.notes),
                        ..About::default()
                    },
                    reader: Reader::Native(Box::new(reader)),
                }
            }
            Content::Text => {
                let mut threads = text::read(source)?;
                Self {
                    about: About {
                        name,
                        threads: threads.threads.len(),
                        strands: std::mem::take(&mut threads.strands),
                        ..About::default()
                    },
                    reader: Reader::Memory(threads),
                }
            }
            Content::Lackey => Self {
                about: About {
                    name,
                    threads: 1,
                    ..About::default()
                },
                reader: Reader::Lackey(Box::new(LackeyReader::new(source))),
            },
        })
    }

    /// Returns a recording of these threads, each with what it did in pieces. It has flow. `name` stands for it in errors.
    #[must_use]
    pub fn from_threads(name: &str, threads: Vec<Vec<Chunk>>) -> Self {
        Self {
            about: About {
                name: name.to_owned(),
                threads: threads.len(),
                has_flow: true,
                ..About::default()
            },
            reader: Reader::Memory(Threads::new(threads)),
        }
    }

    /// Reads and decodes the recording in a thread of its own from now on, ahead of who uses it, if the host has a processor for
    /// that. All results are the same. The thread ends when the recording is dropped, or once it has what it is waiting for then.
    #[must_use]
    pub fn read_ahead(self) -> Self {
        let has_room = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        let reader = match self.reader {
            reader @ (Reader::Native(_) | Reader::Lackey(_)) if has_room => {
                let depth = match &reader {
                    Reader::Lackey(_) => 2,
                    _ => (16 / self.about.threads).max(1),
                };
                match Ahead::new(reader, self.about.threads, depth) {
                    Ok(ahead) => Reader::Ahead(Box::new(ahead)),
                    Err(reader) => reader,
                }
            }
            reader => reader,
        };
        Self { reader, ..self }
    }

    /// Returns the name that stands for this recording in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// Returns the number of threads. They have the numbers from 0, in the order in which they begin.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.about.threads
    }

    /// Returns the strand that the recording itself names for a thread, as text written by hand does.
    #[must_use]
    pub fn strand_of(&self, thread: usize) -> Option<usize> {
        self.about.strands.get(thread).copied()
    }

    /// Returns `true` if the recording says how instructions pass control on: [`Reference::flow`](super::Reference::flow).
    #[must_use]
    pub fn has_flow(&self) -> bool {
        self.about.has_flow
    }

    /// Returns the machine that the program is for, in the words of QEMU (`x86_64`, `sparc64`), if the recording has it.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.about.target.as_deref()
    }

    /// Returns the command line of the program, as for a shell, if the recording has it.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.about.command.as_deref()
    }

    /// Returns the files that the program had in memory, if the recording has them.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        &self.about.mappings
    }

    /// Returns what somebody who reads results should know of the recording, such as that it is cut off: whole sentences
    /// without a full stop.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.about.notes
    }

    /// Returns the progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.reader.progress()
    }

    /// Replaces the content of `chunk` by what a thread did next. Returns `false`, with an empty chunk, at the thread's end.
    ///
    /// # Errors
    /// The recording is damaged, cannot be read or decompressed, or has no reference at all. The thread is at its end
    /// thereafter.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        self.reader.next_chunk(thread, chunk)
    }
}

impl Reader {
    pub(super) fn progress(&self) -> Progress {
        match self {
            Self::Native(reader) => reader.progress(),
            Self::Lackey(reader) => reader.progress(),
            Self::Memory(memory) => memory.progress,
            Self::Ahead(ahead) => ahead.progress(),
        }
    }

    pub(super) fn next_chunk(
        &mut self,
        thread: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        match self {
            Self::Native(reader) => reader.next_chunk(thread, chunk),
            Self::Lackey(reader) if thread == 0 => {
                chunk.order.clear();
                reader.next_chunk(chunk)
            }
            Self::Lackey(_) => {
                chunk.clear();
                Ok(false)
            }
            Self::Memory(memory) => Ok(memory.next_chunk(thread, chunk)),
            Self::Ahead(ahead) => ahead.next_chunk(thread, chunk),
        }
    }
}
