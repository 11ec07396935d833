//! Recording of programs, with the plug-in that the package `recorder` is.

mod became;
mod listener;
mod program;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use indicatif::HumanCount;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cargo;
use crate::interrupt;
use became::Became;
use listener::Listener;
use program::Program;

/// How a program is recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The program is ended soon after so many references.
    pub limit: Option<u64>,
    /// The directory in which its shared libraries are. By default `/`, or where Debian has those of SPARC V9.
    pub sysroot: Option<&'a Path>,
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// All references.
    pub references: u64,
    /// Those that are fetches of instructions.
    pub instructions: u64,
    /// The number of threads.
    pub threads: u32,
    /// The length of the file.
    pub bytes: u64,
    /// How the program ended, in words; `None` if it exited with status 0.
    pub end: Option<String>,
    /// What was not recorded.
    pub notes: Vec<String>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.references.saturating_sub(self.instructions);
        let [references, instructions, data] =
            [self.references, self.instructions, data].map(HumanCount);
        let threads = match self.threads {
            1 => "1 thread".into(),
            several => format!("{several} threads"),
        };
        write!(
            f,
            "{references} references ({instructions} instructions, {data} data) of {threads}"
        )
    }
}

/// Fails if a command runs no program that can be recorded.
///
/// # Errors
/// There is no such program; it is a script, or for a machine other than x86-64 and SPARC V9; or its shared libraries are not
/// there.
pub fn check(command: &[OsString], options: Options<'_>) -> anyhow::Result<()> {
    Program::find(command, options.sysroot).map(drop)
}

/// Records the program that `command` runs into `file`, which is there, is empty, and can be read while it grows. The program
/// has the standard input, output and error of this process. Progress, and what is not recorded, is said at once on standard
/// error. After an interrupt the program is ended, and what it has done is kept.
///
/// # Errors
/// As [`check`]; the emulator or the plug-in is missing and cannot be installed or built; the file cannot be written; or the
/// program makes no reference.
pub fn record(command: &[OsString], file: &Path, options: Options<'_>) -> anyhow::Result<Recorded> {
    let program = Program::find(command, options.sysroot)?;
    let emulator = program.emulator.require()?;
    let plugin = plugin()?;
    interrupt::catch()?;
    let listener = Listener::new(file, program.target, command)?;

    let (messages, end) = io::pipe()?;
    let mut plugin = escaped(plugin.as_os_str());
    plugin.push(",output=");
    plugin.push(escaped(fs::canonicalize(file)?.as_os_str()));
    // Opened by its name, the pipe is no descriptor that the program could see or close.
    plugin.push(format!(
        ",messages=/proc/{}/fd/{}",
        std::process::id(),
        end.as_raw_fd()
    ));
    if let Some(limit) = options.limit {
        plugin.push(format!(",limit={limit}"));
    }
    let mut emulated = Command::new(&emulator);
    emulated.arg("-plugin").arg(plugin);
    if let Some(sysroot) = &program.sysroot {
        emulated.arg("-L").arg(sysroot);
    }
    emulated
        .arg("-0")
        .arg(&command[0])
        .arg(&program.path)
        .args(&command[1..]);
    let child = emulated.spawn();
    let mut child = child.with_context(|| format!("{} cannot be run", emulator.display()))?;

    let listener = thread::spawn(move || listener.listen(messages));
    let mut became = Became::new(child.id(), &emulator);
    let status = wait(&mut child, || became.look());
    // The last writer: the listener comes to its end.
    drop(end);
    let heard = listener
        .join()
        .map_err(|_| anyhow!("the messages of the recorder are lost"))?;
    heard?.complete(status?, became)
}

/// Returns the plug-in, which is built if necessary.
fn plugin() -> anyhow::Result<&'static Path> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(built) = BUILT.get() {
        return Ok(built);
    }
    let built = cargo::build_library("recorder")?;
    Ok(BUILT.get_or_init(|| built))
}

/// Returns a part of an option of the emulator, in which a comma would end the part.
fn escaped(text: &OsStr) -> OsString {
    let mut bytes = Vec::new();
    for &byte in text.as_bytes() {
        bytes.extend_from_slice(if byte == b',' {
            b",,"
        } else {
            std::slice::from_ref(&byte)
        });
    }
    OsString::from_vec(bytes)
}

/// Waits for the program. After an interrupt, which it may have got from the terminal, too, it is ended: by SIGTERM if it goes
/// on, and later by SIGKILL. Calls `look` now and then.
fn wait(child: &mut Child, mut look: impl FnMut()) -> io::Result<ExitStatus> {
    let steps = [
        (Duration::from_millis(300), Signal::SIGTERM),
        (Duration::from_secs(3), Signal::SIGKILL),
    ];
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
                // It has ended meanwhile, or gets the signal.
                let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
}
