//! A program under valgrind's lackey, and its references as it makes them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::source::Source;
use super::{LackeyReader, RecordingError, Reference};

/// A program that runs under lackey. It is ended when this is dropped.
pub struct Lackey {
    name: String,
    pipe: Option<PipeReader>,
    reader: Option<LackeyReader>,
    limit: u64,
    /// Dropped to have the program ended.
    running: Option<Sender<()>>,
    waiter: Option<JoinHandle<io::Result<ExitStatus>>>,
}

impl Lackey {
    /// Starts `command` under the given valgrind, with this process's standard input, output and error. Its first
    /// `limit` references can be read. It is ended when `interrupted` says so.
    ///
    /// # Errors
    /// valgrind cannot be run.
    pub fn start(
        valgrind: &Path,
        command: &[OsString],
        limit: Option<u64>,
        interrupted: fn() -> bool,
    ) -> io::Result<Self> {
        let (pipe, mut end) = io::pipe()?;
        // Opened by its name under /proc, the pipe is no descriptor that the program could see or close.
        let log = format!(
            "--log-file=/proc/{}/fd/{}",
            std::process::id(),
            end.as_raw_fd()
        );
        let mut child = Command::new(valgrind)
            .args([
                "--command-line-only=yes",
                "--tool=lackey",
                "--trace-mem=yes",
            ])
            .args(["--basic-counts=no", "--trace-children=no"])
            .args(["--child-silent-after-fork=yes", &log, "--"])
            .args(command)
            .spawn()?;
        let (running, stop) = mpsc::channel();
        let waiter = std::thread::spawn(move || {
            let status = wait(&mut child, &stop, interrupted);
            // Everything that the program wrote is in the pipe by now. A reader that has gone needs no end.
            let _ = end.write_all(&[END]);
            status
        });
        let name = (command.first()).map_or_else(Cow::default, |name| name.to_string_lossy());
        Ok(Self {
            name: name.into_owned(),
            pipe: Some(pipe),
            reader: None,
            limit: limit.unwrap_or(u64::MAX),
            running: Some(running),
            waiter: Some(waiter),
        })
    }

    /// The next references, as [`LackeyReader::next_block`] gives them; false at the end of the program, or the limit.
    ///
    /// # Errors
    /// valgrind wrote something else, or no reference at all.
    pub fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<bool, RecordingError> {
        if let Some(pipe) = self.pipe.take() {
            let stream = Stream {
                pipe,
                left: self.limit,
                in_line: false,
                in_reference: false,
            };
            let name = format!("{} under valgrind", self.name);
            self.reader = Some(Source::from_reader(&name, stream, None).map(LackeyReader::new)?);
        }
        self.reader
            .as_mut()
            .map_or(Ok(false), |reader| reader.next_block(block))
    }

    /// Waits for the program to end by itself, after its last reference has been read. Can be called once.
    ///
    /// # Errors
    /// The status of the program is unknown.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.waiter.take().map(JoinHandle::join) {
            Some(Ok(status)) => status,
            _ => Err(io::Error::other("nothing waits for the program")),
        }
    }
}

impl Drop for Lackey {
    fn drop(&mut self) {
        // The pipe goes before the thread is waited for: the thread may be writing to it.
        (self.running, self.pipe, self.reader) = (None, None, None);
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
    }
}

/// Waits for `child`; ends it on an interrupt, or when the sender of `stop` is gone.
fn wait(
    child: &mut Child,
    stop: &Receiver<()>,
    interrupted: fn() -> bool,
) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let stopped =
            stop.recv_timeout(Duration::from_millis(20)) != Err(RecvTimeoutError::Timeout);
        if stopped || interrupted() {
            child.kill()?;
            return child.wait();
        }
    }
}

/// Ends the text: no byte of a recording. A child of the program may hold the pipe open long after the program has gone,
/// so that the end of the pipe means nothing.
const END: u8 = 0;

/// The text up to [`END`], or up to so many references.
struct Stream {
    pipe: PipeReader,
    /// References to come; 0 at the end.
    left: u64,
    in_line: bool,
    in_reference: bool,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let count = self.pipe.read(buffer)?;
        for (at, &byte) in buffer[..count].iter().enumerate() {
            if byte == END {
                self.left = 0;
                return Ok(at);
            }
            if !self.in_line {
                self.in_reference = matches!(byte, b'I' | b' ');
            }
            self.in_line = byte != b'\n';
            if !self.in_line && self.in_reference {
                self.left -= 1;
                if self.left == 0 {
                    return Ok(at + 1);
                }
            }
        }
        Ok(count)
    }
}
