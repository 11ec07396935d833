//! Tools of other projects that commands need. A missing tool is installed, or the error says what to type.

use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{Flock, FlockArg};

use crate::say::say;

/// A program in PATH, and the Debian package that has it. A name with a slash is a file: an absolute path, or a path
/// relative to a directory of PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    name: Cow<'static, str>,
    package: Cow<'static, str>,
}

/// Counts instructions.
pub const VALGRIND: Tool = Tool::new("valgrind", "valgrind");
/// Reads traces of events.
pub const BABELTRACE: Tool = Tool::new("babeltrace2", "babeltrace2");
/// The C compiler for SPARC V9.
pub const SPARC_GCC: Tool = Tool::new("sparc64-linux-gnu-gcc", "gcc-sparc64-linux-gnu");
/// The linker for SPARC V9.
pub const SPARC_LD: Tool = Tool::new("sparc64-linux-gnu-ld", "binutils-sparc64-linux-gnu");
/// Shows the instructions of a program for this machine.
pub const OBJDUMP: Tool = Tool::new("objdump", "binutils");
/// Shows the instructions of a program for SPARC V9.
pub const SPARC_OBJDUMP: Tool =
    Tool::new("sparc64-linux-gnu-objdump", "binutils-sparc64-linux-gnu");
/// Finds the function and the line of an address of a program for SPARC V9.
pub const SPARC_ADDR2LINE: Tool =
    Tool::new("sparc64-linux-gnu-addr2line", "binutils-sparc64-linux-gnu");
/// The C library for SPARC V9 under Linux, which the package of the compiler only recommends.
pub const SPARC_LIBC: Tool =
    Tool::new("../sparc64-linux-gnu/lib/crt1.o", "libc6-dev-sparc64-cross");
/// Runs programs for x86-64 under Linux.
pub const QEMU_X86: Tool = Tool::new("qemu-x86_64", "qemu-user");
/// Runs programs for SPARC V9 under Linux.
pub const QEMU_SPARC: Tool = Tool::new("qemu-sparc64", "qemu-user");
/// A sun4v machine.
pub const QEMU_SUN4V: Tool = Tool::new("qemu-system-sparc64", "qemu-system-sparc");
/// Debian's Rust, for those who have no toolchain of rustup with the source of the library.
pub const DEBIAN_RUST: [Tool; 3] = [
    Tool::new("/usr/bin/rustc", "rustc-web"),
    Tool::new("/usr/bin/cargo", "cargo-web"),
    Tool::new(
        "/usr/lib/rustlib/src/rust/library/Cargo.lock",
        "rust-web-src",
    ),
];
/// A browser, for pages.
pub const CHROMIUM: Tool = Tool::new("chromium", "chromium");
/// A terminal for tests.
pub const TMUX: Tool = Tool::new("tmux", "tmux");
/// A debugger for programs of many processors.
pub const GDB: Tool = Tool::new("gdb-multiarch", "gdb-multiarch");
/// Decides formulas, for proofs.
pub const Z3: Tool = Tool::new("z3", "z3");
/// The C++ compiler of this machine.
pub const CXX: Tool = Tool::new("c++", "g++");

impl Tool {
    const fn new(name: &'static str, package: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            package: Cow::Borrowed(package),
        }
    }

    /// Returns a program of LLVM in one major version.
    #[must_use]
    pub fn of_llvm(program: &str, version: &str) -> Self {
        Self {
            name: format!("{program}-{version}").into(),
            package: format!("llvm-{version}").into(),
        }
    }

    /// Returns the path of the tool.
    ///
    /// # Errors
    /// The tool is missing.
    pub fn find(&self) -> anyhow::Result<PathBuf> {
        let found = Host::here().locate(self);
        found.with_context(|| format!("{} is not installed (Debian: {})", self.name, self.package))
    }

    /// Returns the path of the tool, which is installed if it is missing: see [`require`].
    ///
    /// # Errors
    /// The tool is missing and cannot be installed; the message says what to type.
    pub fn require(&self) -> anyhow::Result<PathBuf> {
        require(std::slice::from_ref(self))?;
        self.find()
    }
}

/// Returns the path of a program that is given by its name or path, as a shell finds it.
#[must_use]
pub fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    Host::here().find(program.as_ref())
}

/// Installs all missing `tools` at once. This works as root on Debian and systems derived from it.
///
/// Processes that install at the same time wait for each other, and for other users of apt.
///
/// # Errors
/// Tools are missing and cannot be installed; the message names them all, and says what to type.
pub fn require(tools: &[Tool]) -> anyhow::Result<()> {
    Host::here().require(tools)
}

/// The properties of a machine that installing depends on.
struct Host {
    path: OsString,
    root: bool,
    /// A file that a process locks while it installs.
    lock: PathBuf,
    /// The time between two tries to get a lock of apt.
    pause: Duration,
    /// The time after which no more tries are made.
    patience: Duration,
}

/// Package managers: the program, and the command to type. The first one in PATH is suggested.
const INSTALLERS: [(&str, &str); 6] = [
    ("apt-get", "apt-get install --no-install-recommends"),
    ("dnf", "dnf install"),
    ("zypper", "zypper install"),
    ("pacman", "pacman -S"),
    ("apk", "apk add"),
    ("pkg", "pkg install"),
];

impl Host {
    fn here() -> Self {
        // A process's directory in /proc belongs to its effective user.
        let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        Self {
            path: env::var_os("PATH").unwrap_or_default(),
            root,
            lock: "/run/xtask-install.lock".into(),
            pause: Duration::from_secs(1),
            patience: Duration::from_secs(300),
        }
    }

    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        if program.as_encoded_bytes().contains(&b'/') {
            return is_program(Path::new(program)).then(|| program.into());
        }
        self.search(program, is_program)
    }

    fn locate(&self, tool: &Tool) -> Option<PathBuf> {
        if tool.name.contains('/') {
            return self.search(tool.name.as_ref().as_ref(), Path::exists);
        }
        self.find(tool.name.as_ref().as_ref())
    }

    fn search(&self, name: &OsStr, will_do: fn(&Path) -> bool) -> Option<PathBuf> {
        env::split_paths(&self.path)
            .map(|directory| directory.join(name))
            .find(|path| will_do(path))
    }

    fn missing<'a>(&self, tools: &'a [Tool]) -> Missing<'a> {
        let missing = tools.iter().filter(|tool| self.locate(tool).is_none());
        Missing(missing.collect())
    }

    fn require(&self, tools: &[Tool]) -> anyhow::Result<()> {
        let missing = self.missing(tools);
        if missing.0.is_empty() {
            return Ok(());
        }
        let Some(apt) = self.find("apt-get".as_ref()).filter(|_| self.root) else {
            bail!("{}; {}", missing.not_installed(), self.advice(&missing))
        };
        let _lock = self.lock()?;
        // Another process may have installed them meanwhile.
        let missing = self.missing(tools);
        if missing.0.is_empty() {
            return Ok(());
        }
        let packages = missing.packages();
        say(format_args!(
            "{}; installing {} ...",
            missing.not_installed(),
            packages.join(" ")
        ));
        let install = [&["install", "--yes", "--no-install-recommends"], &*packages].concat();
        self.apt(&apt, &["update"])
            .and_then(|()| self.apt(&apt, &install))
            .with_context(|| format!("{}; {}", missing.not_installed(), self.advice(&missing)))?;
        let missing = self.missing(tools);
        ensure!(
            missing.0.is_empty(),
            "{} after the installation of {}",
            missing.not_installed(),
            missing.packages().join(" ")
        );
        Ok(())
    }

    /// Waits until no other process of this program installs packages, and locks out others.
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

    /// Runs apt-get unattended, and prints its output if it fails. Tries again while another process holds one of apt's
    /// locks: apt-get itself waits only for dpkg's lock, not for those of the package lists and the archive.
    fn apt(&self, apt: &Path, arguments: &[&str]) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut waits = false;
        loop {
            let output = Command::new(apt)
                .args(["--quiet=2", "-o", "DPkg::Lock::Timeout=300"])
                .args(arguments)
                .env("PATH", &self.path)
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
                bail!(
                    "apt-get {} failed with {}",
                    arguments.join(" "),
                    output.status
                );
            }
            if !waits {
                say("another process is using apt; waiting for it ...");
            }
            waits = true;
            thread::sleep(self.pause);
        }
    }

    fn advice(&self, missing: &Missing<'_>) -> String {
        let sudo = if self.root { "" } else { "sudo " };
        let packages = missing.packages().join(" ");
        let installer = INSTALLERS
            .iter()
            .find(|(program, _)| self.find(program.as_ref()).is_some());
        match installer {
            Some((_, command)) => format!("type: {sudo}{command} {packages}"),
            None => format!("install these packages of your system: {packages}"),
        }
    }
}

/// Tools that are not installed.
struct Missing<'a>(Vec<&'a Tool>);

impl Missing<'_> {
    /// Returns the packages that have the tools, each once.
    fn packages(&self) -> Vec<&str> {
        let mut packages: Vec<&str> = Vec::new();
        for tool in &self.0 {
            if !packages.contains(&&*tool.package) {
                packages.push(&tool.package);
            }
        }
        packages
    }

    fn not_installed(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|tool| &*tool.name).collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        format!("{} {are} not installed", names.join(", "))
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
pub(crate) mod tests;
