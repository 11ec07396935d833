//! The file.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use simulator::recording::native::{Definitions, Frame, Stored};
use zstd::bulk::Compressor;

/// The file that all threads append to. It is opened for each write: a descriptor that stays open would be one of the program's,
/// which it can see and close.
pub(crate) struct Output {
    path: OsString,
    errors: OsString,
    limit: u64,
    /// Ends the process at once.
    end: fn(i32) -> !,
    written: Mutex<Written>,
}

struct Written {
    references: u64,
    definitions: Frame,
}

/// Compresses what frames have.
pub(crate) struct Compressed(Option<Compressor<'static>>);

impl Compressed {
    pub(crate) fn new() -> Self {
        // The fastest: a recording is made of small numbers that repeat.
        Self(Compressor::new(1).ok())
    }

    /// Appends a frame as it is stored.
    fn put(&mut self, frame: &Frame, bytes: &mut Vec<u8>) {
        let compressor = self.0.as_mut();
        let data = compressor.and_then(|compressor| compressor.compress(&frame.content).ok());
        let (stored, data) = match &data {
            Some(data) if data.len() < frame.content.len() => (Stored::Zstd, data),
            _ => (Stored::Plain, &frame.content),
        };
        bytes.extend_from_slice(&frame.header(stored, data));
        bytes.extend_from_slice(data);
    }
}

impl Output {
    /// Returns the output to a file, which begins with what comes before the first reference. `errors` is told why the program
    /// had to end, `end` ends it.
    pub(crate) fn new(path: OsString, errors: OsString, limit: u64, end: fn(i32) -> !) -> Self {
        let written = Mutex::new(Written { references: 0, definitions: Frame::new() });
        Self { path, errors, limit, end, written }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends references, and before them the definitions that they need. Ends the process if there are as many as wanted.
    pub(crate) fn references(
        &self,
        frame: &Frame,
        definitions: &Mutex<Definitions>,
        compressed: &mut Compressed,
    ) {
        let mut references = Vec::new();
        compressed.put(frame, &mut references);
        let mut written = self.written();
        let mut bytes = Vec::new();
        let mut definitions = definitions.lock().unwrap_or_else(PoisonError::into_inner);
        if definitions.take(&mut written.definitions) {
            compressed.put(&written.definitions, &mut bytes);
        }
        drop(definitions);
        bytes.append(&mut references);
        self.append(&bytes);
        written.references += frame.references;
        if written.references >= self.limit {
            self.last(written.references, None);
            (self.end)(0);
        }
    }

    /// Appends a frame of another kind.
    pub(crate) fn frame(&self, frame: &Frame) {
        let mut bytes = Vec::new();
        Compressed::new().put(frame, &mut bytes);
        let _written = self.written();
        self.append(&bytes);
    }

    /// Appends a note. This works in a process that was forked from the recorded one, too.
    pub(crate) fn note(&self, text: &str) {
        let mut bytes = Vec::new();
        Compressed(None).put(&Frame::note(text), &mut bytes);
        self.append(&bytes);
    }

    /// Appends the end of the program, which exited with this status.
    pub(crate) fn exit(&self, status: Option<u8>) {
        let written = self.written();
        self.last(written.references, status);
    }

    fn last(&self, references: u64, status: Option<u8>) {
        let mut bytes = Vec::new();
        Compressed(None).put(&Frame::end(references, status), &mut bytes);
        self.append(&bytes);
    }

    /// Appends in one piece. The program ends if that is not possible.
    fn append(&self, bytes: &[u8]) {
        let write = || OpenOptions::new().append(true).open(&self.path)?.write_all(bytes);
        if let Err(error) = write() {
            self.fail(&error);
        }
    }

    fn fail(&self, error: &io::Error) -> ! {
        self.stop(&format!("cannot be written: {error}"))
    }

    /// Ends the program for a reason.
    pub(crate) fn stop(&self, reason: &str) -> ! {
        let errors = OpenOptions::new().write(true).open(&self.errors);
        // Whoever started the emulator may be gone.
        let _ = errors.and_then(|mut errors| errors.write_all(reason.as_bytes()));
        (self.end)(1)
    }
}
