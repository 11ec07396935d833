//! Records programs under QEMU's user-mode emulator, with the plug-in from the crate `recorder`.

mod completion;
mod listener;
mod mapping;
mod only_function;
mod part;
mod program;
mod program_tracker;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use anyhow::{Context, anyhow};
use indicatif::HumanCount;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::{NamedTempFile, TempDir};

use crate::interrupt;
use crate::numbers::counted_plainly;
use crate::say::say;
use listener::{DONE, Listener, Running, is_running};
use only_function::OnlyFunction;
use program::Program;
use program_tracker::ProgramTracker;

/// How to record a program, apart from its command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The number of references after which the recorder ends the program; `None` for no limit.
    pub limit: Option<u64>,
    /// The directory of the program's shared libraries. The default is `/` or, for SPARC V9, Debian's directory.
    pub sysroot: Option<&'a Path>,
    /// The only function to record, with everything that it calls; `None` to record everything.
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
    /// The number of processes that made references. A process is counted again when it replaces its program.
    pub processes: usize,
    /// The length of the recording, in bytes.
    pub bytes: u64,
    /// A sentence about the end of the program; `None` if it exited with status 0.
    pub end: Option<String>,
    /// Notes on what is missing, such as other programs that the program started.
    pub notes: Vec<String>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.references.saturating_sub(self.instructions);
        let [references, instructions, data] =
            [self.references, self.instructions, data].map(HumanCount);
        let threads = counted_plainly(self.threads.into(), "thread");
        write!(
            f,
            "{references} references ({instructions} instructions, {data} data) of {threads}"
        )?;
        match self.processes {
            1 => Ok(()),
            many => write!(f, " in {}", counted_plainly(many as u64, "process")),
        }
    }
}

/// Checks that the program of a command can be recorded on this system. The program must exist, be for x86-64 or SPARC V9, and have its
/// shared libraries.
pub fn check(command: &[OsString], options: Options<'_>) -> anyhow::Result<()> {
    plugin()?;
    let program = Program::find(command, options.sysroot)?;
    options.only.map(|function| OnlyFunction::find(&program.path, function)).transpose().map(drop)
}

/// Records the program of `command` into `file`, which must exist and be empty. Also records the
/// processes that the program forks, and the programs that they execute. The file can be
/// read while it grows. The program shares the standard input, output and error of this process.
/// Prints progress and notes to standard error. An interrupt ends the program, and the recording is
/// kept. Fails if the program makes no reference.
pub fn record(command: &[OsString], file: &Path, options: Options<'_>) -> anyhow::Result<Recorded> {
    let plugin = plugin()?;
    let program = Program::find(command, options.sysroot)?;
    let alone =
        options.only.map(|function| OnlyFunction::find(&program.path, function)).transpose()?;
    let emulator = program.emulator.find()?;
    let library = write(plugin)?;
    interrupt::catch()?;
    let running = Running::default();
    let socket = Socket::new().context("the socket for the recorder cannot be made")?;
    let mut plugin = escaped(library.path().as_os_str());
    // When a process replaces its program, the recorder starts the emulator again, with the path of the plug-in.
    for (name, value) in [("plugin", library.path()), ("socket", &socket.name)] {
        plugin.push(format!(",{name}="));
        plugin.push(escaped(value.as_os_str()));
    }
    if let Some(sysroot) = &program.sysroot {
        plugin.push(",sysroot=");
        plugin.push(escaped(sysroot.as_os_str()));
    }
    for symbol in alone.iter().flat_map(|alone| &alone.symbols) {
        plugin.push(",only=");
        plugin.push(escaped(OsStr::new(symbol)));
    }
    let listener = Listener::new(
        file,
        program.target,
        &emulator,
        command,
        options.limit,
        Arc::clone(&running),
        alone,
    )?;
    let mut emulated = Command::new(&emulator);
    emulated.arg("-plugin").arg(plugin);
    if let Some(sysroot) = &program.sysroot {
        emulated.arg("-L").arg(sysroot);
    }
    emulated.arg("-0").arg(&command[0]).arg(&program.path).args(&command[1..]);
    let Socket { listener: socket, name, directory } = socket;
    let child = emulated.spawn();
    let mut child = child.with_context(|| format!("{} cannot be run", emulator.display()))?;

    let listener = thread::spawn(move || {
        let heard = listener.listen(&socket);
        drop((socket, directory));
        heard
    });
    let mut became = ProgramTracker::new(child.id(), &emulator);
    let status = wait(&mut child, || {
        became.look();
        still_running(&running);
    });
    wait_for_others(&command[0], &running, &name);
    // A failure is ignored, because the listener may have ended already.
    let _ = UnixStream::connect(&name).and_then(|mut end| end.write_all(DONE.as_bytes()));
    let heard = listener.join().map_err(|_| anyhow!("the messages of the recorder are lost"))?;
    heard?.complete(status?, became)
}

/// The socket to which the recorder connects.
struct Socket {
    listener: UnixListener,
    /// A short path of the socket, which is also valid for processes in other directories. The path of a socket is limited to 108 bytes.
    name: PathBuf,
    /// The directory of the socket. It is private, and removed with this value.
    directory: (TempDir, File),
}

impl Socket {
    fn new() -> io::Result<Self> {
        let directory = TempDir::new()?;
        let open = File::open(directory.path())?;
        let name = format!("/proc/{}/fd/{}/recorder", std::process::id(), open.as_raw_fd());
        let listener = UnixListener::bind(&name)?;
        Ok(Self { listener, name: name.into(), directory: (directory, open) })
    }
}

/// Waits until all recorded processes have ended, because a process can outlive its parent. After an interrupt, ends these processes.
fn wait_for_others(program: &OsStr, running: &Running, socket: &Path) {
    let mut is_said = false;
    let (started, mut interrupted) = (Instant::now(), None);
    loop {
        let mut ids = still_running(running);
        if ids.is_empty() && synchronise(socket) {
            ids = still_running(running);
        }
        if ids.is_empty() {
            return;
        }
        if interrupt::happened() {
            let since = *interrupted.get_or_insert_with(Instant::now);
            for id in &ids {
                // An error means that the process has ended.
                let _ = kill(Pid::from_raw(id.cast_signed()), Signal::SIGTERM);
            }
            if since.elapsed() > END_TIMEOUT {
                return;
            }
        } else if !is_said && started.elapsed() > END_TIMEOUT {
            is_said = true;
            let processes = counted_plainly(ids.len() as u64, "process");
            say(format_args!(
                "{} has ended; recording goes on for {processes} that it started (an interrupt ends it)",
                program.display()
            ));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the listener has handled all messages so far. Returns `false` if the listener has ended.
fn synchronise(socket: &Path) -> bool {
    let ask = || -> io::Result<usize> {
        let mut stream = UnixStream::connect(socket)?;
        stream.write_all(b"0 sync\n")?;
        stream.read(&mut [0; 2])
    };
    ask().is_ok_and(|read| read > 0)
}

/// Forgets the processes that have ended, because the kernel reuses their ids. Returns the ids of the others.
fn still_running(running: &Running) -> Vec<u32> {
    let mut ids = running.lock().unwrap_or_else(PoisonError::into_inner);
    ids.retain(|id| is_running(*id));
    ids.clone()
}

/// How long to wait for processes before a message says that they still run. After an interrupt, this is the longest wait.
const END_TIMEOUT: Duration = Duration::from_secs(1);

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

/// Waits for the program, and calls `look` every 10 ms. After an interrupt, sends SIGTERM and later SIGKILL, but not immediately, because
/// the terminal may have sent the interrupt to the program as well.
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
