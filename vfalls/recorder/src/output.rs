//! The connection to the process that started the emulator.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use refs::{Definitions, Frame, Stored};

use crate::lock;

/// The socket to which all threads of the process write. Each message opens a connection of its own, because the program could close the
/// descriptor of a lasting connection.
pub(crate) struct Output {
    socket: OsString,
    /// The number of this process in the recording.
    process: AtomicU32,
    /// Ends the process immediately with this exit status.
    end: fn(i32) -> !,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    /// The number of definition frames in this process's recording.
    defined: u64,
    definitions: Frame,
}

impl Output {
    pub(crate) fn new(socket: OsString, process: u32, end: fn(i32) -> !) -> Self {
        let process = AtomicU32::new(process);
        Self { socket, process, end, written: Mutex::default() }
    }

    /// Returns the number of this process in the recording.
    pub(crate) fn process(&self) -> u32 {
        self.process.load(Ordering::Relaxed)
    }

    /// Notes that this process is a forked copy of another recorded process, and has the number `process`. Must be called in the copy,
    /// before it writes anything. The copy knows the blocks that the other process has defined, so the copy's recording begins with their
    /// definitions.
    pub(crate) fn after_fork(&self, process: u32) {
        self.process.store(process, Ordering::Relaxed);
        let written = lock(&self.written);
        self.notify("forked", &format!("{} {}", written.defined, std::process::id()));
    }

    /// Writes the definitions that a frame of references needs, and then the frame. `instructions` is the number of instruction fetches
    /// among the references.
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
            written.defined += 1;
        }
        drop(definitions);
        put(frame, &mut bytes);
        self.append(&bytes, [frame.references, instructions, frame.thread.into()]);
    }

    /// Writes a frame without references.
    pub(crate) fn frame(&self, frame: &Frame) {
        let mut bytes = Vec::new();
        put(frame, &mut bytes);
        let _written = lock(&self.written);
        self.append(&bytes, [0; 3]);
    }

    /// Sends frames, or ends the program if that fails.
    fn append(&self, bytes: &[u8], [references, instructions, thread]: [u64; 3]) {
        let text = format!("{} {references} {instructions} {thread}", bytes.len());
        if let Err(error) = self.send("frames", &text, bytes) {
            self.stop("cannot", &error.to_string());
        }
    }

    /// Sends a line: a keyword and its argument.
    pub(crate) fn notify(&self, word: &str, text: &str) {
        // Ignores the error, because the process that started the emulator may be gone.
        let _ = self.send(word, &text.replace('\n', " "), &[]);
    }

    /// Asks for the number of a new process. `bytes` follows the message line, and `text` must begin with the length of `bytes`.
    pub(crate) fn new_process(&self, word: &str, text: &str, bytes: &[u8]) -> Option<u32> {
        let mut stream = self.send(word, text, bytes).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.trim().parse().ok()
    }

    fn send(&self, word: &str, text: &str, bytes: &[u8]) -> io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let mut message = format!("{} {word} {text}\n", self.process()).into_bytes();
        message.extend_from_slice(bytes);
        stream.write_all(&message)?;
        Ok(stream)
    }

    /// Sends a message, and ends the program.
    pub(crate) fn stop(&self, word: &str, reason: &str) -> ! {
        self.notify(word, reason);
        (self.end)(1)
    }
}

/// Appends an uncompressed frame.
fn put(frame: &Frame, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&frame.header(Stored::Plain, &frame.content));
    bytes.extend_from_slice(&frame.content);
}
