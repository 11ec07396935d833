//! Reads recordings of DynamoRIO's drmemtrace as `drraw2trace` writes them: one file for each thread, with 12-byte
//! [records](record).

mod record;
mod thread;
mod time;

use std::fs;
use std::path::{Path, PathBuf};

use super::chunk::Chunk;
use super::error::RecordingError;
use super::info::RecordingInfo;
use super::lackey::BLOCK;
use super::source::{A_RECORDING, BytesRead, Source, unreadable};
use crate::text::line;
use record::{FILETYPE, HEADER, MARKER, MAX_VERSION, MIN_VERSION, Record, SIZE};
use thread::ThreadReader;
use time::{MAX_PARTS, Run};

/// The maximum number of files in a directory.
const MAX_FILES: usize = 1 << 16;

const A_FILE: &str = "a file of drmemtrace, as in drmemtrace.*.dir/trace";

/// Bits in the value of a [`FILETYPE`] marker (`offline_file_type_t`). `FILTERED`: the recorder has omitted instructions, or data
/// that hit in a small cache. `WITHOUT_DATA`: the recording has no data. `TARGETS`: each known architecture's bit, with QEMU's name
/// for the architecture.
const FILTERED: u64 = 0x1 | 0x80 | 0x100;
const WITHOUT_DATA: u64 = 0x4;
const TARGETS: [(u64, &str); 4] =
    [(0x40, "x86_64"), (0x08, "aarch64"), (0x20, "i386"), (0x10, "arm")];

/// Returns `true` if a drmemtrace file begins with these bytes.
pub(super) fn is_header(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|bytes| {
        let record = Record::new(bytes);
        // In a 32-bit program's recording, the address has only 4 bytes, so the upper half of `value` belongs to the next record.
        record.kind == HEADER && (1..256).contains(&(record.value() & 0xffff_ffff))
    })
}

/// Returns what the start of a recording's file says about the recording. Notes call the recording `name`.
fn describe(source: &Source, name: &str) -> Result<RecordingInfo, RecordingError> {
    let wrong = |found: String, expected| RecordingError::in_file(&source.name, found, expected);
    let records = source.head().chunks_exact(SIZE).filter_map(|bytes| bytes.first_chunk());
    let mut records = records.map(Record::new);
    let version = records.next().map_or(0, |header| header.value());
    if version > u64::from(u32::MAX) {
        let found = String::from("records of 8 bytes, which are of a 32-bit program");
        return Err(wrong(found, "records of 12 bytes"));
    }
    if version < MIN_VERSION {
        return Err(wrong(format!("version {version} of drmemtrace"), "version 2 or later"));
    }
    let kind = records.find(|one| one.kind == MARKER && one.size == FILETYPE);
    let kind = kind.map_or(0, |one| one.value());
    let target = TARGETS.iter().find(|(bit, _)| kind & bit != 0);
    let mut notes = vec![format!(
        "{name} is a recording of drmemtrace: it has no symbols, and does not tell atomic and floating-point instructions from others"
    )];
    if version > MAX_VERSION {
        notes.push(format!(
            "{name} has version {version} of its format: the newest known version is {MAX_VERSION}"
        ));
    }
    if kind & FILTERED != 0 {
        notes.push(format!("{name} is filtered: it lacks references that its recorder left out"));
    }
    if kind & WITHOUT_DATA != 0 {
        notes.push(format!("{name} has only instructions, and no references to data"));
    }
    Ok(RecordingInfo {
        threads: 1,
        // If the recorder omitted instructions, calls and returns do not match.
        has_flow: kind & FILTERED == 0,
        target: target.map(|(_, name)| String::from(*name)),
        notes,
        ..RecordingInfo::default()
    })
}

/// Reads drmemtrace threads, each from its own file.
pub(super) struct DrmemtraceReader {
    threads: Vec<ThreadFile>,
    /// The number of references after which a block ends.
    most: usize,
    /// The number of bytes that were read from files that have been closed.
    read: u64,
    total: Option<u64>,
    /// Whether the recording may still turn out to have no references, which is an error.
    is_unseen: bool,
    name: String,
}

enum ThreadFile {
    /// The file has not been opened since its parts were put in order.
    Closed(PathBuf, Vec<Run>),
    Open(Box<ThreadReader>),
    Ended,
}

impl DrmemtraceReader {
    /// Returns a reader for one thread.
    pub(super) fn new(source: Source) -> Result<(RecordingInfo, Self), RecordingError> {
        let about = describe(&source, &source.name)?;
        let (name, total) = (source.name.clone(), source.progress().total);
        let reader = ThreadReader::new(source, Vec::new(), BLOCK);
        let threads = vec![ThreadFile::Open(Box::new(reader))];
        Ok((about, Self { threads, most: BLOCK, read: 0, total, is_unseen: true, name }))
    }

    /// Returns a reader for the files in a directory, or in its folder `trace`. First reads the time stamps of all files.
    pub(super) fn open(directory: &Path) -> Result<(RecordingInfo, Self), RecordingError> {
        let name = line(&directory.to_string_lossy());
        let paths = files(directory)
            .map_err(|error| RecordingError::in_file(&name, unreadable(&error), A_RECORDING))?;
        if paths.is_empty() {
            let found =
                "a directory without files such as *.trace.zip, here or in its folder trace";
            return Err(RecordingError::in_file(&name, found, A_RECORDING));
        }
        if paths.len() > MAX_FILES {
            return Err(RecordingError::in_file(&name, "more files", "at most 65536 threads"));
        }
        let mut about = None;
        let (mut scanned, mut parts, mut references, mut total) = (Vec::new(), 0, 0, 0);
        for path in paths {
            let source = Source::open(&path)?;
            if !is_header(source.head()) {
                return Err(RecordingError::in_file(&source.name, "something else", A_FILE));
            }
            let described = describe(&source, &name)?;
            about.get_or_insert(described);
            total += source.progress().total.unwrap_or(0);
            let times = ThreadReader::new(source, Vec::new(), BLOCK).scan(MAX_PARTS - parts)?;
            let (times, count) = times.ok_or_else(|| {
                let found = "more time stamps";
                RecordingError::in_file(&name, found, "at most 33554432 time stamps")
            })?;
            parts += times.len();
            references += count;
            scanned.push((times, path));
        }
        if references == 0 {
            return Err(RecordingError::in_file(&name, "no memory reference", "at least one"));
        }
        // Threads are numbered in the order in which they begin. The sort is stable: threads that begin at the same time keep their
        // order.
        scanned.sort_by_key(|(times, _)| times.first().copied().unwrap_or(0));
        let (times, paths): (Vec<_>, Vec<_>) = scanned.into_iter().unzip();
        let runs = time::runs(&times).into_iter();
        let threads: Vec<_> = paths
            .into_iter()
            .zip(runs)
            .map(|(path, runs)| ThreadFile::Closed(path, runs))
            .collect();
        let mut about = about.unwrap_or_default();
        if threads.len() > 1 {
            about.notes.push(format!("{name} has no locks: time stamps alone order its threads"));
        }
        let about = RecordingInfo { threads: threads.len(), references: Some(references), ..about };
        // Threads wait for each other, so every thread has a block in memory. The more threads there are, the smaller the blocks.
        let most = (BLOCK / threads.len()).max(BLOCK / 64);
        Ok((about, Self { threads, most, read: 0, total: Some(total), is_unseen: false, name }))
    }

    pub(super) fn progress(&self) -> BytesRead {
        let open = self.threads.iter().map(|thread| match thread {
            ThreadFile::Open(reader) => reader.progress().read,
            _ => 0,
        });
        BytesRead { read: self.read + open.sum::<u64>(), total: self.total }
    }

    pub(super) fn next_chunk(
        &mut self,
        thread: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        let Some(file) = self.threads.get_mut(thread) else {
            chunk.clear();
            return Ok(false);
        };
        if let ThreadFile::Closed(path, runs) = file {
            let (path, runs) = (std::mem::take(path), std::mem::take(runs));
            *file = ThreadFile::Ended;
            let reader = ThreadReader::new(Source::open(&path)?, runs, self.most);
            *file = ThreadFile::Open(Box::new(reader));
        }
        let ThreadFile::Open(reader) = file else {
            chunk.clear();
            return Ok(false);
        };
        let result = reader.next_chunk(chunk);
        if !matches!(result, Ok(true)) {
            self.read += reader.progress().read;
            *file = ThreadFile::Ended;
        }
        let is_unseen = std::mem::take(&mut self.is_unseen);
        match result {
            Ok(false) if is_unseen => {
                Err(RecordingError::in_file(&self.name, "no memory reference", "at least one"))
            }
            result => result,
        }
    }
}

/// Returns the thread files in a directory, or in its folder `trace`, ordered by name.
fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let inner = directory.join("trace");
    let directory = if inner.is_dir() { &inner } else { directory };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_thread = path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            let end = name.rsplit_once(".trace").map(|(_, end)| end);
            end.is_some_and(|end| end.is_empty() || end.starts_with('.'))
        });
        if is_thread && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
