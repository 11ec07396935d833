//! A recording's source: a file or a stream, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::counted::Counted;
use super::error::RecordingError;
use super::zip::Members;
use super::zstd::Frames;
use crate::text::line;

/// Reads a recording's decompressed content.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: Box<dyn Read + Send>,
    compression: Compression,
    /// The first bytes of the decompressed content, which determine the format.
    head: Vec<u8>,
    /// The file's path; `None` for a stream.
    pub(super) path: Option<PathBuf>,
    /// The file; `None` unless it is plain and seekable.
    file: Option<File>,
    /// The number of bytes read from the file or stream so far.
    read: Arc<AtomicU64>,
    /// The length of the file or stream, if known.
    total: Option<u64>,
}

/// How much of a recording has been read, in bytes of the file or stream before decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesRead {
    /// The number of bytes read so far.
    pub read: u64,
    /// The length in bytes; `None` for a pipe.
    pub total: Option<u64>,
}

pub(super) const A_RECORDING: &str = "a recording of \"vfalls record\", \"valgrind --tool=lackey --trace-mem=yes\", \
                                      drmemtrace or ChampSim, or text such as \"0 w 0x1000 8\", plain, gzip, zstd or zip";

/// The number of bytes that are used to determine the content's format. In text, the first non-blank byte determines it.
const HEAD: usize = 256;

impl Source {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Self, RecordingError> {
        if path == Path::new("-") {
            return Self::from_reader("standard input", io::stdin(), None);
        }
        let name = line(&path.to_string_lossy());
        let refused = |error| RecordingError::in_file(&name, unreadable(&error), A_RECORDING);
        let file = File::open(path).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_dir() {
            return Err(RecordingError::in_file(&name, "a directory", A_RECORDING));
        }
        if !metadata.is_file() {
            return Self::from_reader(&name, file, None);
        }
        let whole = file.try_clone().map_err(refused)?;
        let source = Self::new(&name, file, Some(whole), Some(metadata.len()))?;
        Ok(Self { path: Some(path.to_owned()), ..source })
    }

    /// Reads from a stream. `total` is the stream's length in bytes, if known.
    pub(super) fn from_reader(
        name: &str,
        stream: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Self, RecordingError> {
        Self::new(name, stream, None, total)
    }

    /// Reads from a stream. If the stream reads a seekable file, `file` is that file.
    fn new(
        name: &str,
        stream: impl Read + Send + 'static,
        file: Option<File>,
        total: Option<u64>,
    ) -> Result<Self, RecordingError> {
        let name = line(name);
        let read = Arc::new(AtomicU64::new(0));
        let mut stream = Counted { stream, read: Arc::clone(&read) };
        let mut magic = Vec::new();
        stream
            .by_ref()
            .take(6)
            .read_to_end(&mut magic)
            .map_err(|error| RecordingError::in_file(&name, unreadable(&error), A_RECORDING))?;
        let compression = detect_compression(&magic);
        let whole = BufReader::with_capacity(1 << 16, io::Cursor::new(magic).chain(stream));
        let mut text: Box<dyn Read + Send> =
            match compression {
                Compression::Plain => Box::new(whole),
                Compression::Zip => {
                    let file = match &file {
                        Some(file) => file.try_clone(),
                        // An archive's directory is at its end, so the whole archive has to be in a file.
                        None => copy_to_temporary_file(whole),
                    };
                    let members = file.and_then(|file| Members::new(file, read.clone()));
                    let found = |error: io::Error| match error.raw_os_error() {
                        None => String::from(DAMAGED_ZIP),
                        Some(_) => unreadable(&error),
                    };
                    Box::new(members.map_err(|error| {
                        RecordingError::in_file(&name, found(error), A_RECORDING)
                    })?)
                }
                Compression::Gzip => Box::new(MultiGzDecoder::new(whole)),
                Compression::Zstd => Box::new(Frames::new(whole)),
                Compression::Other(what) => {
                    return Err(RecordingError::in_file(&name, what, A_RECORDING));
                }
            };
        // The error is not lost: `Failed` passes it to whoever reads the text.
        let mut head = Vec::new();
        let failed = text.by_ref().take(HEAD as u64).read_to_end(&mut head).err();
        let text = io::Cursor::new(head.clone()).chain(Failed(failed)).chain(text);
        let file = file.filter(|_| matches!(compression, Compression::Plain));
        Ok(Self { name, text: Box::new(text), compression, head, path: None, file, read, total })
    }

    /// Returns the first bytes of the decompressed content, at most 256.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the content as a seekable file: the file itself if it is plain, otherwise a temporary file without a name.
    pub(super) fn into_file(mut self) -> Result<File, RecordingError> {
        if let Some(file) = self.file {
            return Ok(file);
        }
        let no_room = |found, error: io::Error| {
            let found = format!("{found} ({})", line(&error.to_string()));
            RecordingError::in_file(&self.name, found, "room to decompress a recording")
        };
        let mut file = tempfile::tempfile().map_err(|error| no_room("no temporary file", error))?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match self.text.read(&mut buffer) {
                Ok(0) => return Ok(file),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Keep the content before the damage, as for a plain file that is cut off.
                Err(error) if error.raw_os_error().is_none() => return Ok(file),
                Err(error) => {
                    let found = unreadable(&error);
                    return Err(RecordingError::in_file(&self.name, found, A_RECORDING));
                }
            };
            let written = file.write_all(&buffer[..count]);
            written.map_err(|error| no_room("no room for a temporary file", error))?;
        }
    }

    /// Returns `true` if the file or stream is not compressed.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.compression, Compression::Plain)
    }

    pub(super) fn progress(&self) -> BytesRead {
        BytesRead { read: self.read.load(Ordering::Relaxed), total: self.total }
    }

    /// Returns the part of an error message that describes `error`. It follows the word "found".
    pub(super) fn failure(&self, error: &io::Error) -> String {
        match (&self.compression, error.raw_os_error()) {
            (Compression::Gzip, None) => "gzip data that is damaged or cut off".into(),
            (Compression::Zstd, None) => "zstd data that is damaged or cut off".into(),
            (Compression::Zip, None) => DAMAGED_ZIP.into(),
            _ => unreadable(error),
        }
    }
}

const DAMAGED_ZIP: &str = "a zip archive that is damaged, cut off or not deflated";

/// Copies a stream to a temporary file without a name.
fn copy_to_temporary_file(mut stream: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut stream, &mut file)?;
    Ok(file)
}

pub(super) fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "a file that may not be read".into(),
        _ => format!("unreadable data ({})", line(&error.to_string())),
    }
}

enum Compression {
    Plain,
    Gzip,
    Zstd,
    Zip,
    Other(&'static str),
}

fn detect_compression(magic: &[u8]) -> Compression {
    match magic {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        [b'P', b'K', 3, 4, ..] => Compression::Zip,
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Compression::Other(
            "a file compressed with xz (\"xz -dk FILE\" decompresses it, \"xz -dc FILE\" into a pipe)",
        ),
        [b'B', b'Z', b'h', ..] => Compression::Other("a file compressed with bzip2"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Compression::Other("a file compressed with lz4"),
        [0xff, 6, 0, 0, b's', b'N'] => Compression::Other("a file compressed with snappy"),
        [0x7f, b'E', b'L', b'F', ..] => Compression::Other("a program"),
        _ => Compression::Plain,
    }
}

/// A reader without content. If it holds an error, the first read returns that error.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
