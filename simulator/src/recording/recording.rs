use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use guest_abi::StrandId;

use super::ahead::Ahead;
use super::champsim::{self, ChampSimReader};
use super::chunk::Chunk;
use super::content::Content;
use super::drmemtrace::DrmemtraceReader;
use super::error::RecordingError;
use super::expected::Expected;
use super::formats::{MemoryReader, Reader};
use super::info::RecordingInfo;
use super::lackey::LackeyReader;
use super::native::NativeReader;
use super::source::{BytesRead, Source};
use super::text;
use crate::text::line;
use refs::{Mapping, Process};

/// A program's recording. Each of its threads is read independently.
pub struct Recording {
    about: RecordingInfo,
    chunks: Chunks,
    /// The file or directory whose references [`count_ahead`](Self::count_ahead) can count. `None` if their number is already
    /// known, or if the recording can be read only once.
    uncounted: Option<Uncounted>,
    expected: Option<Expected>,
}

/// A file whose number of references is not known.
enum Uncounted {
    /// A lackey file, and whether it is uncompressed.
    Lackey(PathBuf, bool),
    /// A file or directory in another format.
    Other(PathBuf),
}

enum Chunks {
    Direct(Reader),
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
    /// Opens the recordings of all processes in a file of any [format](super), plain or compressed; `-` is standard input. The
    /// first recording is that of the process that the user started. A directory holds the threads of one program, as recorded by
    /// drmemtrace.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or read, if it is compressed in an unknown way, if there is no room to
    /// decompress it, or if a recording that is native, handwritten or in a directory is malformed or too large.
    pub fn open_all(path: impl AsRef<Path>) -> Result<Vec<Self>, RecordingError> {
        let path = path.as_ref();
        if path != Path::new("-") && path.is_dir() {
            let name = line(&path.to_string_lossy());
            let (about, reader) = DrmemtraceReader::open(path)?;
            let recording = Self::read_by(name, about, Reader::Drmemtrace(Box::new(reader)));
            let uncounted = Some(Uncounted::Other(path.to_owned()));
            return Ok(vec![Self { uncounted, ..recording }]);
        }
        Source::open(path).and_then(Self::all)
    }

    /// Opens the recording of the process that the user started. A [note](Self::notes) says whether the file has more processes.
    /// Otherwise, this function is like [`open_all`](Self::open_all).
    ///
    /// # Errors
    /// Returns the same errors as [`open_all`](Self::open_all).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        Self::open_all(path).map(Self::first)
    }

    /// Opens the recordings of all processes, like [`open_all`](Self::open_all). Error messages call the file `name`.
    ///
    /// # Errors
    /// Returns the same errors as [`open_all`](Self::open_all).
    pub fn open_all_as(path: impl AsRef<Path>, name: &str) -> Result<Vec<Self>, RecordingError> {
        let mut source = Source::open(path.as_ref())?;
        source.name = line(name);
        Self::all(source)
    }

    /// Reads one process's recording, plain or compressed, from `stream`. Error messages call the recording `name`. `total` is the
    /// stream's length in bytes, if known.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](Self::open).
    pub fn from_reader(
        name: &str,
        stream: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Self, RecordingError> {
        Source::from_reader(name, stream, total).and_then(Self::all).map(Self::first)
    }

    /// Drops all recordings except the first. If there were others, adds a note to the first one that says how many are not read.
    fn first(mut all: Vec<Self>) -> Self {
        let others = all.len() - 1;
        let mut first = all.swap_remove(0);
        if others > 0 {
            let (name, about) = (&first.about.name, "of further processes, which are not read");
            let note = format!("{name} has {others} recordings {about}");
            first.about.notes.push(note);
        }
        first
    }

    fn all(source: Source) -> Result<Vec<Self>, RecordingError> {
        static FAMILIES: AtomicU64 = AtomicU64::new(1);
        let name = source.name.clone();
        let path = source.path.clone();
        let mut uncounted = None;
        let (about, reader) = match Content::detect(source.head()) {
            Content::Native => {
                let readers = NativeReader::all(source)?;
                let family = match readers.len() {
                    1 => 0,
                    _ => FAMILIES.fetch_add(1, Ordering::Relaxed),
                };
                return Ok(readers
                    .into_iter()
                    .map(|reader| Self::native(reader, &name, family))
                    .collect());
            }
            Content::Text => {
                let mut memory = text::read(source)?;
                let strands = std::mem::take(&mut memory.strands);
                let (threads, references) = (memory.threads.len(), Some(memory.references()));
                let about =
                    RecordingInfo { threads, references, strands, ..RecordingInfo::default() };
                (about, Reader::Memory(memory))
            }
            Content::Drmemtrace => {
                let (about, reader) = DrmemtraceReader::new(source)?;
                uncounted = path.map(Uncounted::Other);
                (about, Reader::Drmemtrace(Box::new(reader)))
            }
            Content::ChampSim => {
                let notes = vec![champsim::note(&name)];
                let about =
                    RecordingInfo { threads: 1, has_flow: true, notes, ..RecordingInfo::default() };
                uncounted = path.map(Uncounted::Other);
                (about, Reader::ChampSim(Box::new(ChampSimReader::new(source))))
            }
            Content::Lackey => {
                let about = RecordingInfo { threads: 1, ..RecordingInfo::default() };
                uncounted = path.map(|path| Uncounted::Lackey(path, source.is_plain()));
                (about, Reader::Lackey(Box::new(LackeyReader::new(source))))
            }
        };
        Ok(vec![Self { uncounted, ..Self::read_by(name, about, reader) }])
    }

    fn native(mut reader: NativeReader, name: &str, family: u64) -> Self {
        let about = std::mem::take(&mut reader.about);
        let (threads, references) = (reader.threads(), Some(reader.references));
        let name = match about.process.number {
            0 => name.to_owned(),
            number => format!("{name} (process {number})"),
        };
        let about = RecordingInfo { threads, references, has_flow: true, family, ..about };
        Self::read_by(name, about, Reader::Native(Box::new(reader)))
    }

    fn read_by(name: String, about: RecordingInfo, reader: Reader) -> Self {
        let (about, chunks) = (RecordingInfo { name, ..about }, Chunks::Direct(reader));
        Self { about, chunks, uncounted: None, expected: None }
    }

    /// Returns a recording of these threads, each of which is a list of chunks. The recording [has flow](Self::has_flow). Error
    /// messages call it `name`.
    pub fn from_threads(name: &str, threads: Vec<Vec<Chunk>>) -> Self {
        let memory = MemoryReader::new(threads);
        let (threads, references) = (memory.threads.len(), Some(memory.references()));
        let about =
            RecordingInfo { threads, references, has_flow: true, ..RecordingInfo::default() };
        let chunks = Chunks::Direct(Reader::Memory(memory));
        Self { about, chunks, uncounted: None, expected: None }.named(name)
    }

    /// Reads and decodes the rest of the recording in a separate thread, if the host has a second processor. This changes no
    /// result. The thread ends after the recording is dropped and the thread's current read returns.
    #[must_use]
    pub fn read_ahead(self) -> Self {
        let has_room = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        let chunks = match self.chunks {
            Chunks::Direct(reader) if has_room && !matches!(reader, Reader::Memory(_)) => {
                let depth = match &reader {
                    Reader::Lackey(_) | Reader::ChampSim(_) => 2,
                    _ => (16 / self.about.threads).max(1),
                };
                match Ahead::new(reader, self.about.threads, depth) {
                    Ok(ahead) => Chunks::Ahead(Box::new(ahead)),
                    Err(reader) => Chunks::Direct(reader),
                }
            }
            chunks => chunks,
        };
        Self { chunks, ..self }
    }

    /// Counts a file's references, if the file does not state their number. A replay can then report its
    /// [progress](crate::replay::Progress) in references. For an uncompressed lackey file, the number is estimated from a few
    /// samples. Any other file is read to its end in a separate thread. This function changes no result.
    #[must_use]
    pub fn count_ahead(mut self) -> Self {
        self.expected = match &self.uncounted {
            None => None,
            Some(Uncounted::Lackey(path, is_plain)) => Expected::new(path, *is_plain),
            Some(Uncounted::Other(path)) => {
                let path = path.clone();
                Expected::counted(move |should_continue| {
                    Self::open(&path).ok()?.count(should_continue)
                })
            }
        };
        self
    }

    /// Decodes the whole recording, and counts its references. Returns `None` if it cannot be read, or soon after `should_continue`
    /// returns `false`.
    fn count(&mut self, should_continue: &dyn Fn() -> bool) -> Option<u64> {
        let (mut chunk, mut references) = (Chunk::default(), 0);
        for thread in 0..self.threads() {
            while self.next_chunk(thread, &mut chunk).ok()? {
                references += chunk.len() as u64;
                should_continue().then_some(())?;
            }
        }
        Some(references)
    }

    /// Returns the number of references in all threads: the exact number that [`references`](Self::references) returns, or the
    /// number that [`count_ahead`](Self::count_ahead) has found, which can be off by two percent. Returns `None` while neither is
    /// known.
    pub fn expected(&self) -> Option<u64> {
        self.about.references.or_else(|| self.expected.as_ref()?.references())
    }

    /// Returns the recording's name in error messages.
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// Sets the name that error messages use for the recording.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.about.name = name.to_owned();
        self
    }

    /// Returns the number of threads. Threads are numbered from 0 in the order in which they begin.
    pub fn threads(&self) -> usize {
        self.about.threads
    }

    /// Returns the number of references in all threads; `None` if it is known only at the end of the recording.
    pub fn references(&self) -> Option<u64> {
        self.about.references
    }

    /// Returns a thread's strand; `None` unless the recording is handwritten.
    pub fn strand_of(&self, thread: usize) -> Option<StrandId> {
        self.about.strands.get(thread).copied()
    }

    /// Returns sentences about program actions that are missing from the recording. They are also in [`notes`](Self::notes).
    pub fn missing(&self) -> &[String] {
        &self.about.missing
    }

    /// Returns the process that was recorded.
    pub fn process(&self) -> &Process {
        &self.about.process
    }

    /// Returns an identifier that recordings share only if they are in the same file; 0 if the recording is the only one in its
    /// file.
    pub(crate) fn family(&self) -> u64 {
        self.about.family
    }

    /// Returns `true` if the recording has the instructions' flow: [`Reference::flow`](super::Reference::flow).
    pub fn has_flow(&self) -> bool {
        self.about.has_flow
    }

    /// Returns QEMU's name for the program's architecture (`x86_64`, `sparc64`), if it is recorded.
    pub fn target(&self) -> Option<&str> {
        self.about.target.as_deref()
    }

    /// Returns the program's command line, quoted for a shell; `None` if it is not recorded.
    pub fn command(&self) -> Option<&str> {
        self.about.command.as_deref()
    }

    /// Returns the files that the program mapped into memory; empty if they are not recorded.
    pub fn mappings(&self) -> &[Mapping] {
        &self.about.mappings
    }

    /// Returns notes for readers of the results, such as that the recording is cut off. A note is a sentence without a full stop.
    pub fn notes(&self) -> &[String] {
        &self.about.notes
    }

    /// Returns how much of the recording has been read, in bytes.
    pub fn progress(&self) -> BytesRead {
        match &self.chunks {
            Chunks::Direct(reader) => reader.progress(),
            Chunks::Ahead(ahead) => ahead.progress(),
        }
    }

    /// Replaces the content of `chunk` with a thread's next references. At the thread's end, returns `false` and an empty chunk.
    ///
    /// # Errors
    /// Returns an error if the recording is damaged, has no references, or cannot be read or decompressed. Later calls for the
    /// thread return `false`.
    pub fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        match &mut self.chunks {
            Chunks::Direct(reader) => reader.next_chunk(thread, chunk),
            Chunks::Ahead(ahead) => ahead.next_chunk(thread, chunk),
        }
    }
}
