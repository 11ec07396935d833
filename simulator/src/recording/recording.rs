use std::fmt;
use std::io::Read;
use std::path::Path;
use std::thread;

use guest_abi::StrandId;

use super::about::About;
use super::ahead::Ahead;
use super::chunk::Chunk;
use super::error::RecordingError;
use super::formats::{Reader, Threads};
use super::lackey::LackeyReader;
use super::native::NativeReader;
use super::source::{BytesRead, Content, Source};
use super::text;
use refs::Mapping;

/// A recording of a program. Each of its threads is read independently.
pub struct Recording {
    about: About,
    chunks: Chunks,
}

enum Chunks {
    Now(Reader),
    Ahead(Box<Ahead>),
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recording").field(&self.name()).finish()
    }
}

impl From<Recording> for Vec<Recording> {
    fn from(recording: Recording) -> Self {
        vec![recording]
    }
}

impl Recording {
    /// Opens a recording of any [format](super), plain or compressed; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened or read, is a directory, or is compressed in an unknown way. Or the recording is native or handwritten,
    /// and is malformed or too large. Or there is no room to decompress the recording.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        Source::open(path.as_ref()).and_then(Self::new)
    }

    /// Reads a recording, plain or compressed, from `stream`. Error messages call the recording `name`. `total` is the length of the
    /// stream in bytes, if known.
    ///
    /// # Errors
    /// The same as for [`open`](Self::open).
    pub fn from_reader(
        name: &str,
        stream: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Self, RecordingError> {
        Source::from_reader(name, stream, total).and_then(Self::new)
    }

    fn new(source: Source) -> Result<Self, RecordingError> {
        let name = source.name.clone();
        let (about, reader) = match source.content() {
            Content::Native => {
                let mut reader = NativeReader::new(source)?;
                let about = std::mem::take(&mut reader.about);
                let (threads, references) = (reader.threads(), Some(reader.references));
                let about = About { threads, references, has_flow: true, ..about };
                (about, Reader::Native(Box::new(reader)))
            }
            Content::Text => {
                let mut memory = text::read(source)?;
                let strands = std::mem::take(&mut memory.strands);
                let (threads, references) = (memory.threads.len(), Some(memory.references()));
                let about = About { threads, references, strands, ..About::default() };
                (about, Reader::Memory(memory))
            }
            Content::Lackey => {
                let about = About { threads: 1, ..About::default() };
                (about, Reader::Lackey(Box::new(LackeyReader::new(source))))
            }
        };
        Ok(Self { about: About { name, ..about }, chunks: Chunks::Now(reader) })
    }

    /// Returns a recording of these threads, with flow. Each thread is a list of chunks. Error messages call the recording `name`.
    pub fn from_threads(name: &str, threads: Vec<Vec<Chunk>>) -> Self {
        let memory = Threads::new(threads);
        let (threads, references) = (memory.threads.len(), Some(memory.references()));
        let about = About { threads, references, has_flow: true, ..About::default() };
        Self { about, chunks: Chunks::Now(Reader::Memory(memory)) }.named(name)
    }

    /// Reads and decodes the rest of the recording in a separate thread, if the host has a second processor. This does not change any
    /// result. The thread ends after the recording is dropped and the thread's current read returns.
    #[must_use]
    pub fn read_ahead(self) -> Self {
        let has_room = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        let chunks = match self.chunks {
            Chunks::Now(reader @ (Reader::Native(_) | Reader::Lackey(_))) if has_room => {
                let depth = match &reader {
                    Reader::Lackey(_) => 2,
                    _ => (16 / self.about.threads).max(1),
                };
                match Ahead::new(reader, self.about.threads, depth) {
                    Ok(ahead) => Chunks::Ahead(Box::new(ahead)),
                    Err(reader) => Chunks::Now(reader),
                }
            }
            chunks => chunks,
        };
        Self { chunks, ..self }
    }

    /// Returns the name of the recording in error messages.
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// Returns the recording with `name` as its name in error messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.about.name = name.to_owned();
        self
    }

    /// Returns the number of threads. Threads are numbered from 0 in the order in which they begin.
    pub fn threads(&self) -> usize {
        self.about.threads
    }

    /// Returns the number of references of all threads; `None` for a lackey recording, because the number is known only at its end.
    pub fn references(&self) -> Option<u64> {
        self.about.references
    }

    /// Returns the strand of a thread; `None` unless the recording is handwritten.
    pub fn strand_of(&self, thread: usize) -> Option<StrandId> {
        self.about.strands.get(thread).copied()
    }

    /// Returns `true` if the recording has the flow of instructions: [`Reference::flow`](super::Reference::flow).
    pub fn has_flow(&self) -> bool {
        self.about.has_flow
    }

    /// Returns QEMU's name of the program's architecture (`x86_64`, `sparc64`), if it is recorded.
    pub fn target(&self) -> Option<&str> {
        self.about.target.as_deref()
    }

    /// Returns the command line of the program, quoted for a shell; `None` if it is not recorded.
    pub fn command(&self) -> Option<&str> {
        self.about.command.as_deref()
    }

    /// Returns the files that the program mapped into memory; empty if they are not recorded.
    pub fn mappings(&self) -> &[Mapping] {
        &self.about.mappings
    }

    /// Returns notes for the reader of the results, for example that the recording is cut off. A note is a sentence without a
    /// full stop.
    pub fn notes(&self) -> &[String] {
        &self.about.notes
    }

    /// Returns how far the recording has been read, in bytes.
    pub fn progress(&self) -> BytesRead {
        match &self.chunks {
            Chunks::Now(reader) => reader.progress(),
            Chunks::Ahead(ahead) => ahead.progress(),
        }
    }

    /// Replaces the content of `chunk` with the next references of a thread. At the thread's end, returns `false` and an empty chunk.
    ///
    /// # Errors
    /// The recording is damaged, has no references, or cannot be read or decompressed. Later calls for the thread return `false`.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        match &mut self.chunks {
            Chunks::Now(reader) => reader.next_chunk(thread, chunk),
            Chunks::Ahead(ahead) => ahead.next_chunk(thread, chunk),
        }
    }
}
