//! The pipes to the process that started the emulator.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;

use refs::{Definitions, Frame, Stored};

use crate::lock;

/// The pipes to which all threads write. Each write opens its pipe, because the program could close an open descriptor.
pub(crate) struct Pipes {
    frames: OsString,
    messages: OsString,
    limit: u64,
    /// Ends the process at once with this exit status.
    end: fn(i32) -> !,
    written: Mutex<Written>,
}

struct Written {
    references: u64,
    definitions: Frame,
}

impl Pipes {
    pub(crate) fn new(frames: OsString, messages: OsString, limit: u64, end: fn(i32) -> !) -> Self {
        let written = Mutex::new(Written { references: 0, definitions: Frame::default() });
        Self { frames, messages, limit, end, written }
    }

    /// Writes the definitions that a frame of references needs, and then the frame. `instructions` is the number of fetches among
    /// the references. Ends the program at the limit of references.
    pub(crate) fn references(
        &self,
        frame: &Frame,
        instructions: u64,
        definitions: &Mutex<Definitions>,
    ) {
        let mut written = lock(&self.written);
        let mut bytes = Vec::new();
        let mut definitions = lock(definitions);
        if definitions.take(&mut written.definitions) {
            put(&written.definitions, &mut bytes);
        }
        drop(definitions);
        put(frame, &mut bytes);
        self.append(&bytes, [frame.references, instructions, frame.thread.into()]);
        written.references += frame.references;
        if written.references >= self.limit {
            self.stop("limit", "");
        }
    }

    /// Writes a frame without references.
    pub(crate) fn frame(&self, frame: &Frame) {
        let mut bytes = Vec::new();
        put(frame, &mut bytes);
        let _written = lock(&self.written);
        self.append(&bytes, [0; 3]);
    }

    /// Announces the frames in `bytes` with a message, and then writes them. Ends the program if a write fails.
    fn append(&self, bytes: &[u8], [references, instructions, thread]: [u64; 3]) {
        self.say("frames", &format!("{} {references} {instructions} {thread}", bytes.len()));
        let write = || OpenOptions::new().write(true).open(&self.frames)?.write_all(bytes);
        if let Err(error) = write() {
            self.stop("cannot", &error.to_string());
        }
    }

    /// Sends a line: a keyword and its argument. A single write sends the whole line, so threads and processes may send at once.
    pub(crate) fn say(&self, word: &str, text: &str) {
        let messages = OpenOptions::new().write(true).open(&self.messages);
        let line = format!("{word} {}\n", text.replace('\n', " "));
        // The error is ignored, because the process that started the emulator may be gone.
        let _ = messages.and_then(|mut messages| messages.write_all(line.as_bytes()));
    }

    /// Sends a message, and ends the program.
    pub(crate) fn stop(&self, word: &str, reason: &str) -> ! {
        self.say(word, reason);
        (self.end)(1)
    }
}

/// Appends an uncompressed frame.
fn put(frame: &Frame, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&frame.header(Stored::Plain, &frame.content));
    bytes.extend_from_slice(&frame.content);
}
