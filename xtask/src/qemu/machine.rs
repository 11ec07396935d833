//! Runs an image on QEMU's niagara machine.

use std::fs;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use platform::memory_map::escape::TRAPPED;
use platform::memory_map::{DEFAULT_GUEST_BYTES, PARTITION, RESET, RESET_CODE, ROM};

use super::fatal;
use crate::tools::{self, QEMU_SUN4V};
use vfalls::cmd::boot::console::Console;
use vfalls::interrupt::{self, Interrupted};
use vfalls::say::say;

/// The address of the task number for the guests that check the service.
pub const TASK: u64 = MEMORY.end - 8;

#[derive(Debug)]
pub struct Boot<'a> {
    pub hypervisor: &'a Path,
    pub guest: &'a Path,
    /// Words to write into memory: the address and the value.
    pub words: &'a [(u64, u64)],
    pub timeout: Duration,
    /// If set, QEMU waits for a debugger on this local port before it executes anything.
    pub gdb: Option<u16>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest ended with this code. Codes of 2^32 and above come from the hypervisor.
    Code(u64),
    TimeOut,
    /// QEMU ended before the guest did, with this message.
    Qemu(String),
}

/// The size of the partition's memory, in MB.
const MEGABYTES: u64 = DEFAULT_GUEST_BYTES >> 20;

/// The addresses of the partition's memory, into which guests are loaded.
pub const MEMORY: Range<u64> = PARTITION..PARTITION + DEFAULT_GUEST_BYTES;

/// ROM files that QEMU requires. The images do not use them.
const EMPTY: [&str; 5] = ["nvram1", "1up-md.bin", "1up-hv.bin", "q.bin", "openboot.bin"];

/// A QEMU process. Dropping this value kills the process.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Killing fails if the process has already ended, so errors are ignored.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Boots the guest, copies its output to `show`, and ends QEMU. Returns the guest's output, and how the run ended.
pub fn run(boot: &Boot<'_>, show: &mut dyn Write) -> anyhow::Result<(Vec<u8>, End)> {
    let qemu = tools::path(&QEMU_SUN4V)?;
    let roms = roms()?;
    interrupt::catch()?;
    let mut command = Command::new(qemu);
    command
        .args(["-M", "niagara", "-nodefaults", "-m"])
        .arg(MEGABYTES.to_string())
        .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
        .args(["-icount", "shift=10,sleep=off", "-L"])
        .arg(roms);
    for file in [boot.hypervisor, boot.guest] {
        command.arg("-device").arg(loader("file", file)?);
    }
    for (address, value) in boot.words {
        let word = format!("loader,addr={address:#x},data={value:#x},data-len=8,data-be=on");
        command.args(["-device", &word]);
    }
    if let Some(port) = boot.gdb {
        command.args(["-S", "-gdb", &format!("tcp:127.0.0.1:{port}")]);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("QEMU cannot be run")?;
    let bytes = reader(child.stdout.take());
    let errors = reader(child.stderr.take());
    if let Some(port) = boot.gdb {
        say(format_args!(
            "waiting for a debugger: gdb-multiarch GUEST -ex 'target remote :{port}'"
        ));
    }
    let running = Running(child);
    let (console, end) = watch(&bytes, boot.timeout, show)?;
    drop(running);
    let end = end.unwrap_or_else(|| {
        let said = errors.iter().flatten().collect::<Vec<_>>();
        End::Qemu(String::from_utf8_lossy(&said).trim().into())
    });
    let mut text = console.text().to_vec();
    if end == End::Code(TRAPPED) {
        let console = String::from_utf8_lossy(&text);
        let places = fatal::source_locations(&console, boot.hypervisor, boot.guest)?;
        show.write_all(places.as_bytes())?;
        text.extend(places.as_bytes());
    }
    Ok((text, end))
}

/// Reads the console until the guest ends. Returns the console's text, and how the guest ended; `None` if QEMU ends first.
fn watch(
    bytes: &Receiver<Vec<u8>>,
    timeout: Duration,
    show: &mut dyn Write,
) -> anyhow::Result<(Console, Option<End>)> {
    let deadline = Instant::now() + timeout;
    let mut console = Console::default();
    loop {
        if interrupt::happened() {
            bail!(Interrupted);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok((console, Some(End::TimeOut)));
        }
        match bytes.recv_timeout(left.min(Duration::from_millis(100))) {
            Ok(bytes) => show.write_all(console.push(&bytes))?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok((console, None)),
        }
        if let Some(code) = console.ended() {
            show.flush()?;
            return Ok((console, Some(End::Code(code))));
        }
    }
}

/// Reads a pipe in a thread of its own until the pipe is closed. Returns the receiver of the bytes.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns the value of a QEMU option that loads a file. Doubles the commas in the file's path, because a single one would end the path.
fn loader(key: &str, path: &Path) -> anyhow::Result<String> {
    let text =
        path.to_str().with_context(|| format!("{}: expected a name in UTF-8", path.display()))?;
    Ok(format!("loader,{key}={}", text.replace(',', ",,")))
}

/// Writes the machine's ROM files, and returns their directory.
fn roms() -> anyhow::Result<PathBuf> {
    let directory = super::build::directory().join("roms");
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).with_context(|| format!("{}", path.display()))
    };
    fs::create_dir_all(&directory).with_context(|| format!("{}", directory.display()))?;
    write(
        "reset.bin",
        &[&[0; (RESET - ROM.start) as usize][..], RESET_CODE.map(u32::to_be_bytes).as_flattened()]
            .concat(),
    )?;
    for name in EMPTY {
        write(name, &[0; 8])?;
    }
    Ok(directory)
}
