//! The file.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use simulator::recording::native::{Definitions, Frame, Stored};
use zstd::bulk::Compressor;

/// The file that all threads append to. It is opened for each write: a descriptor that stays open would be one of the
/// program's, which it can see and close.
pub(crate) struct Output {
    path: OsString,
    messages: OsString,
    limit: u64,
    /// Ends the process at once.
    end: fn(i32) -> !,
    written: Mutex<Written>,
}

struct Written {
    references: u64,
    definitions: Frame,
}

/// What a frame of references has: their number, that of instructions, and the thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) references: u64,
    pub(crate) instructions: u64,
    pub(crate) thread: u32,
}

/// Compresses what frames have.
pub(crate) struct Compressed(Option<Compressor<'static>>);

impl Compressed {
    pub(crate) fn new() -> Self {
        // A negative level leaves literals as they are: a recording is a fifth longer, and reading it takes a sixth less time.
        Self(Compressor::new(-1).ok())
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
    /// Returns the output to a file, which begins with what comes before the first reference. `messages` is told what happens;
    /// `end` ends the process.
    pub(crate) fn new(path: OsString, messages: OsString, limit: u64, end: fn(i32) -> !) -> Self {
        let written = Mutex::new(Written {
            references: 0,
            definitions: Frame::new(),
        });
        Self {
            path,
            messages,
            limit,
            end,
            written,
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends references, of so many instructions, and before them the definitions that they need. Ends the program if there
    /// are as many references as wanted.
    pub(crate) fn references(
        &self,
        frame: &Frame,
        instructions: u64,
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
        let counts = Counts {
            references: frame.references,
            instructions,
            thread: frame.thread,
        };
        self.append(&bytes, counts);
        written.references += frame.references;
        if written.references >= self.limit {
            self.stop("limit", "");
        }
    }

    /// Appends a frame without references.
    pub(crate) fn frame(&self, frame: &Frame) {
        let mut bytes = Vec::new();
        Compressed::new().put(frame, &mut bytes);
        let _written = self.written();
        self.append(&bytes, Counts::default());
    }

    /// Appends in one piece. Ends the program if that is not possible.
    fn append(&self, bytes: &[u8], counts: Counts) {
        let write = || {
            OpenOptions::new()
                .append(true)
                .open(&self.path)?
                .write_all(bytes)
        };
        if let Err(error) = write() {
            self.stop("cannot", &error.to_string());
        }
        let Counts {
            references,
            instructions,
            thread,
        } = counts;
        self.say(
            "wrote",
            &format!("{} {references} {instructions} {thread}", bytes.len()),
        );
    }

    /// Sends a message: a word, and what belongs to it. It is written in one piece, by any thread, and by processes that were
    /// forked from this one.
    pub(crate) fn say(&self, word: &str, text: &str) {
        let messages = OpenOptions::new().write(true).open(&self.messages);
        let line = format!("{word} {}\n", text.replace('\n', " "));
        // Whoever started the emulator may be gone.
        let _ = messages.and_then(|mut messages| messages.write_all(line.as_bytes()));
    }

    /// Ends the program, and says why.
    pub(crate) fn stop(&self, word: &str, reason: &str) -> ! {
        self.say(word, reason);
        (self.end)(1)
    }
}
