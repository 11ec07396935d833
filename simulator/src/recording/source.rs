//! The source of a recording: a file or a stream, plain or compressed. The first bytes say which.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::error::{RecordingError, printable};
use super::zstd::Frames;

/// The text of a recording as a reader, with what is known of its size.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: Box<dyn Read + Send>,
    format: Format,
    /// Bytes taken from the file or stream so far.
    pub(super) read: Arc<AtomicU64>,
    /// Bytes in all, where known.
    pub(super) total: Option<u64>,
}

const A_RECORDING: &str =
    "a recording as \"valgrind --tool=lackey --trace-mem=yes\" writes it, plain, gzip or zstd";

impl Source {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Self, RecordingError> {
        if path == Path::new("-") {
            return Self::from_reader("standard input", io::stdin(), None);
        }
        let name = printable(&path.to_string_lossy());
        let refused = |error| RecordingError::of_file(&name, unreadable(&error), A_RECORDING);
        let file = File::open(path).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_dir() {
            return Err(RecordingError::of_file(&name, "a directory", A_RECORDING));
        }
        Self::from_reader(&name, file, metadata.is_file().then_some(metadata.len()))
    }

    /// Reads from a stream; `total` is its length in bytes, where known.
    pub(super) fn from_reader(
        name: &str,
        stream: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Self, RecordingError> {
        let name = printable(name);
        let read = Arc::new(AtomicU64::new(0));
        let mut stream = Counted {
            stream,
            read: Arc::clone(&read),
        };
        let mut magic = Vec::new();
        stream
            .by_ref()
            .take(6)
            .read_to_end(&mut magic)
            .map_err(|error| RecordingError::of_file(&name, unreadable(&error), A_RECORDING))?;
        let format = format_of(&magic);
        let whole = BufReader::with_capacity(1 << 16, io::Cursor::new(magic).chain(stream));
        let text: Box<dyn Read + Send> = match format {
            Format::Plain => Box::new(whole),
            Format::Gzip => Box::new(MultiGzDecoder::new(whole)),
            Format::Zstd => Box::new(Frames::new(whole)),
            Format::Other(what) => return Err(RecordingError::of_file(&name, what, A_RECORDING)),
        };
        Ok(Self {
            name,
            text,
            format,
            read,
            total,
        })
    }

    /// Returns in a few words why the text cannot be read.
    pub(super) fn failure(&self, error: &io::Error) -> String {
        match (&self.format, error.raw_os_error()) {
            (Format::Gzip, None) => "gzip data that is damaged or cut off".into(),
            (Format::Zstd, None) => "zstd data that is damaged or cut off".into(),
            _ => unreadable(error),
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "a file that may not be read".into(),
        _ => format!("unreadable data ({})", printable(&error.to_string())),
    }
}

enum Format {
    Plain,
    Gzip,
    Zstd,
    Other(&'static str),
}

fn format_of(magic: &[u8]) -> Format {
    match magic {
        [0x1f, 0x8b, ..] => Format::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Format::Zstd,
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Format::Other("a file compressed with xz"),
        [b'B', b'Z', b'h', ..] => Format::Other("a file compressed with bzip2"),
        _ => Format::Plain,
    }
}

/// Counts the bytes that pass.
struct Counted<R> {
    stream: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
