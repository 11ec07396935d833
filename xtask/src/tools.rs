//! The external tools that build and check this project. If a tool is missing, it is installed, or the error says what to type. This module
//! has its own installer, because no maintained crate installs a distribution's packages.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{Flock, FlockArg};
use vfalls::say::say;
use vfalls::tools::Host;
pub use vfalls::tools::{QEMU_SPARC, QEMU_X86, Tool, find};

/// Counts a program's instructions.
pub const VALGRIND: Tool = Tool::new("valgrind", "valgrind");
/// Reads event traces.
pub const BABELTRACE: Tool = Tool::new("babeltrace2", "babeltrace2");
pub const SPARC_GCC: Tool = Tool::new("sparc64-linux-gnu-gcc", "gcc-sparc64-linux-gnu");
pub const SPARC_LD: Tool = Tool::new("sparc64-linux-gnu-ld", "binutils-sparc64-linux-gnu");
pub const SPARC_OBJCOPY: Tool =
    Tool::new("sparc64-linux-gnu-objcopy", "binutils-sparc64-linux-gnu");
/// Builds the example guest in C.
pub const MAKE: Tool = Tool::new("make", "make");
/// Finds the function and the line of an address in a program for SPARC V9.
pub const SPARC_ADDR2LINE: Tool =
    Tool::new("sparc64-linux-gnu-addr2line", "binutils-sparc64-linux-gnu");
/// The C library for SPARC V9 under Linux. The compiler's package recommends it, but does not depend on it.
pub const SPARC_LIBC: Tool =
    Tool::new("../sparc64-linux-gnu/lib/crt1.o", "libc6-dev-sparc64-cross");
pub const QEMU_SUN4V: Tool = Tool::new("qemu-system-sparc64", "qemu-system-sparc");
/// Debian's Rust. It is used if rustup has no toolchain with the source of the standard library.
pub const DEBIAN_RUST: [Tool; 3] = [
    Tool::new("/usr/bin/rustc", "rustc-web"),
    Tool::new("/usr/bin/cargo", "cargo-web"),
    Tool::new("/usr/lib/rustlib/src/rust/library/Cargo.lock", "rust-web-src"),
];
/// The browser that tests use to open pages.
pub const CHROMIUM: Tool = Tool::new("chromium", "chromium");
/// The terminal that tests use to run `vfalls top`.
pub const TMUX: Tool = Tool::new("tmux", "tmux");
/// The debugger that tests attach to guests.
pub const GDB: Tool = Tool::new("gdb-multiarch", "gdb-multiarch");
/// Decides the formulas in proofs.
pub const Z3: Tool = Tool::new("z3", "z3");
/// Compiles libFuzzer, and reads the C header as C++.
pub const CXX: Tool = Tool::new("c++", "g++");

/// Installs all missing `tools` together, as root on Debian and its derivatives. Waits for other processes that install packages, and for
/// other users of apt.
pub fn require(tools: &[Tool]) -> anyhow::Result<()> {
    Installer::here().require(tools)
}

/// Returns the path of a tool. A missing tool is installed: see [`require`].
pub fn path(tool: &Tool) -> anyhow::Result<PathBuf> {
    require(std::slice::from_ref(tool))?;
    tool.find()
}

struct Installer {
    host: Host,
    /// The file that a process locks while it installs packages.
    lock: PathBuf,
    /// The time between two attempts to get an apt lock.
    pause: Duration,
    /// The time limit for getting an apt lock.
    patience: Duration,
}

impl Installer {
    fn here() -> Self {
        Self {
            host: Host::here(),
            lock: "/run/xtask-install.lock".into(),
            pause: Duration::from_secs(1),
            patience: Duration::from_secs(300),
        }
    }

    fn require(&self, tools: &[Tool]) -> anyhow::Result<()> {
        let missing = self.host.missing(tools);
        if missing.is_empty() {
            return Ok(());
        }
        let Some(apt) = self.host.find("apt-get".as_ref()).filter(|_| self.host.root) else {
            bail!("{}; {}", missing.not_installed(), self.host.advice(&missing))
        };
        let _lock = self.lock()?;
        // Another process may have installed some of the tools meanwhile.
        let missing = self.host.missing(tools);
        if missing.is_empty() {
            return Ok(());
        }
        let packages = missing.packages();
        say(format_args!("{}; installing {} ...", missing.not_installed(), packages.join(" ")));
        let install = [&["install", "--yes", "--no-install-recommends"], &*packages].concat();
        self.apt(&apt, &["update"]).and_then(|()| self.apt(&apt, &install)).with_context(|| {
            format!("{}; {}", missing.not_installed(), self.host.advice(&missing))
        })?;
        let missing = self.host.missing(tools);
        ensure!(
            missing.is_empty(),
            "{} after the installation of {}",
            missing.not_installed(),
            missing.packages().join(" ")
        );
        Ok(())
    }

    /// Waits until no other instance of this program is installing packages, and then takes the lock.
    fn lock(&self) -> anyhow::Result<Flock<File>> {
        let open = || {
            let mut options = OpenOptions::new();
            options.create(true).append(true).open(&self.lock)
        };
        let name = || format!("{}: cannot be locked", self.lock.display());
        match Flock::lock(open().with_context(name)?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(lock),
            Err((file, _)) => {
                say("another cargo xtask is installing packages; waiting for it ...");
                let locked = Flock::lock(file, FlockArg::LockExclusive);
                locked.map_err(|(_, error)| error).with_context(name)
            }
        }
    }

    /// Runs apt-get unattended, and prints its output if it fails. Tries again while another process holds an apt lock. apt-get
    /// itself waits for dpkg's lock, but not for the locks of the package lists and the archive.
    fn apt(&self, apt: &Path, arguments: &[&str]) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut waits = false;
        loop {
            let output = Command::new(apt)
                .args(["--quiet=2", "-o", "DPkg::Lock::Timeout=300"])
                .args(arguments)
                .env("PATH", &self.host.path)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .env("LC_ALL", "C.UTF-8")
                .stdin(Stdio::null())
                .output()
                .context("apt-get cannot be run")?;
            if output.status.success() {
                return Ok(());
            }
            let [printed, said] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            if !said.contains("Could not get lock") || started.elapsed() >= self.patience {
                say(format_args!("{printed}{said}").to_string().trim_end());
                bail!("apt-get {} failed with {}", arguments.join(" "), output.status);
            }
            if !waits {
                say("another process is using apt; waiting for it ...");
            }
            waits = true;
            thread::sleep(self.pause);
        }
    }
}

#[cfg(test)]
#[path = "tests/tools.rs"]
pub(crate) mod tests;
