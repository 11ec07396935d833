//! Records programs under QEMU's user-mode emulator with the plug-in of the crate `recorder`.

mod alone;
mod became;
mod listener;
mod program;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use indicatif::HumanCount;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::NamedTempFile;

use crate::interrupt;
use crate::numbers::counted_plainly;
use alone::Alone;
use became::Became;
use listener::Listener;
use program::Program;

/// How to record a program, apart from its command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The number of references after which the recorder ends the program; `None` for no limit.
    pub limit: Option<u64>,
    /// The directory of the program's shared libraries. The default is `/` or, for SPARC V9, Debian's directory.
    pub sysroot: Option<&'a Path>,
    /// The only function that is recorded, with all that it calls; `None` to record everything.
    pub only: Option<&'a str>,
}

/// What is known about a recording when it is complete.
#[derive(Debug)]
pub struct Recorded {
    /// The number of references, including instruction fetches.
    pub references: u64,
    /// The number of instruction fetches.
    pub instructions: u64,
    /// The number of threads that made references.
    pub threads: u32,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// A sentence about the end of the program; `None` if it exited with status 0.
    pub end: Option<String>,
    /// Notes on what is missing, such as programs that this program started.
    pub notes: Vec<String>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.references.saturating_sub(self.instructions);
        let [references, instructions, data] =
            [self.references, self.instructions, data].map(HumanCount);
        let threads = counted_plainly(self.threads.into(), "thread");
        write!(f, "{references} references ({instructions} instructions, {data} data) of {threads}")
    }
}

/// Checks that the program of a command can be recorded on this system: it must exist, be for x86-64 or SPARC V9, and have its shared
/// libraries.
pub fn check(command: &[OsString], options: Options<'_>) -> anyhow::Result<()> {
    plugin()?;
    let program = Program::find(command, options.sysroot)?;
    options.only.map(|function| Alone::find(&program.path, function)).transpose().map(drop)
}

/// Records the program of `command` into `file`, which must exist and be empty. The file can be
/// read while it grows. The program shares the standard input, output and error of this process.
/// Prints progress and notes to standard error. An interrupt ends the program, and the recording is
/// kept. Fails if the program makes no reference.
pub fn record(command: &[OsString], file: &Path, options: Options<'_>) -> anyhow::Result<Recorded> {
    let plugin = plugin()?;
    let program = Program::find(command, options.sysroot)?;
    let alone = options.only.map(|function| Alone::find(&program.path, function)).transpose()?;
    let emulator = program.emulator.find()?;
    let library = write(plugin)?;
    interrupt::catch()?;
    let (frames, end_of_frames) = io::pipe()?;
    let (messages, end) = io::pipe()?;
    let mut plugin = escaped(library.path().as_os_str());
    // The recorder opens the pipes by name, because the program could see and close descriptors that it inherits.
    for (name, pipe) in [("frames", &end_of_frames), ("messages", &end)] {
        let (process, number) = (std::process::id(), pipe.as_raw_fd());
        plugin.push(format!(",{name}=/proc/{process}/fd/{number}"));
    }
    if let Some(limit) = options.limit {
        plugin.push(format!(",limit={limit}"));
    }
    for symbol in alone.iter().flat_map(|alone| &alone.symbols) {
        plugin.push(",only=");
        plugin.push(escaped(OsStr::new(symbol)));
    }
    let listener = Listener::new(file, program.target, command, frames, alone)?;
    let mut emulated = Command::new(&emulator);
    emulated.arg("-plugin").arg(plugin);
    if let Some(sysroot) = &program.sysroot {
        emulated.arg("-L").arg(sysroot);
    }
    emulated.arg("-0").arg(&command[0]).arg(&program.path).args(&command[1..]);
    let child = emulated.spawn();
    let mut child = child.with_context(|| format!("{} cannot be run", emulator.display()))?;

    let listener = thread::spawn(move || listener.listen(messages));
    let mut became = Became::new(child.id(), &emulator);
    let status = wait(&mut child, || became.look());
    // The listener returns only when all write ends of the pipes are closed.
    drop((end, end_of_frames));
    let heard = listener.join().map_err(|_| anyhow!("the messages of the recorder are lost"))?;
    heard?.complete(status?, became)
}

/// The plug-in, which `build.rs` compiles; `None` on systems other than Linux, because the emulator needs Linux.
#[cfg(recorder)]
static PLUGIN: Option<&[u8]> = Some(include_bytes!(env!("RECORDER")));
#[cfg(not(recorder))]
static PLUGIN: Option<&[u8]> = None;

fn plugin() -> anyhow::Result<&'static [u8]> {
    PLUGIN.context("programs are recorded on Linux only, under QEMU's user-mode emulator")
}

/// Writes the plug-in to a private file, which is removed when the result is dropped.
fn write(plugin: &[u8]) -> anyhow::Result<NamedTempFile> {
    let write = || -> io::Result<_> {
        let mut file = NamedTempFile::with_suffix(".so")?;
        file.write_all(plugin)?;
        Ok(file)
    };
    write().context("the recorder cannot be written to a temporary file")
}

/// Escapes text for an option of the emulator by doubling its commas. A single comma would end a part of the option.
fn escaped(text: &OsStr) -> OsString {
    let parts: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b',').collect();
    OsString::from_vec(parts.join(&b",,"[..]))
}

/// Waits for the program, and calls `look` every 10 ms. After an interrupt, sends SIGTERM and later
/// SIGKILL, but not at once: the terminal may have sent the interrupt to the program, too.
fn wait(child: &mut Child, mut look: impl FnMut()) -> io::Result<ExitStatus> {
    let steps =
        [(Duration::from_millis(300), Signal::SIGTERM), (Duration::from_secs(3), Signal::SIGKILL)];
    let mut steps = steps.into_iter().peekable();
    let mut interrupted = None;
    loop {
        look();
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt::happened() {
            let since = interrupted.get_or_insert_with(Instant::now).elapsed();
            if let Some((_, signal)) = steps.next_if(|(after, _)| since >= *after) {
                // An error means that the program has ended.
                let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
}
