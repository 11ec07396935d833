//! The external programs that commands start, and the packages that contain them.

use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A program in PATH, and the Debian package that contains it. A name with a slash is an absolute
/// path, or a path relative to a directory in PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    name: Cow<'static, str>,
    package: Cow<'static, str>,
}

/// The emulator that executes Linux programs for x86-64.
pub const QEMU_X86: Tool = Tool::new("qemu-x86_64", "qemu-user");
/// The emulator that executes Linux programs for SPARC V9.
pub const QEMU_SPARC: Tool = Tool::new("qemu-sparc64", "qemu-user");

impl Tool {
    /// Returns the tool `name`, which is in the Debian package `package`.
    pub const fn new(name: &'static str, package: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), package: Cow::Borrowed(package) }
    }

    /// Returns the path of the tool, or an error that says how to install it.
    pub fn find(&self) -> anyhow::Result<PathBuf> {
        let host = Host::here();
        host.locate(self).with_context(|| {
            let missing = Missing(vec![self]);
            format!("{}; {}", missing.not_installed(), host.advice(&missing))
        })
    }
}

/// Searches for a program by name or path, as a shell does. Returns its path.
pub fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    Host::here().find(program.as_ref())
}

/// Properties of a computer that determine where programs are and how packages are installed.
#[derive(Debug)]
pub struct Host {
    /// The value of the environment variable PATH.
    pub path: OsString,
    /// Whether the user is root, who may install packages.
    pub root: bool,
}

/// Package managers: the name of the program, and the command that installs a package. Messages
/// suggest the first manager that is in PATH.
const INSTALLERS: [(&str, &str); 6] = [
    ("apt-get", "apt-get install --no-install-recommends"),
    ("dnf", "dnf install"),
    ("zypper", "zypper install"),
    ("pacman", "pacman -S"),
    ("apk", "apk add"),
    ("pkg", "pkg install"),
];

impl Host {
    /// Returns the search path of this computer, and whether this process runs as root.
    pub fn here() -> Self {
        Self {
            path: env::var_os("PATH").unwrap_or_default(),
            // In /proc, the directory of a process belongs to that process's effective user.
            root: fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0),
        }
    }

    /// Searches for a program as a shell does. Returns its path.
    pub fn find(&self, program: &OsStr) -> Option<PathBuf> {
        if program.as_encoded_bytes().contains(&b'/') {
            return is_program(Path::new(program)).then(|| program.into());
        }
        self.search(program, is_program)
    }

    /// Returns the path of a tool; `None` if it is not installed.
    pub fn locate(&self, tool: &Tool) -> Option<PathBuf> {
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

    /// Returns the tools in `tools` that are not installed.
    pub fn missing<'a>(&self, tools: &'a [Tool]) -> Missing<'a> {
        let missing = tools.iter().filter(|tool| self.locate(tool).is_none());
        Missing(missing.collect())
    }

    /// Returns a sentence for the user, with the command that installs the missing tools.
    pub fn advice(&self, missing: &Missing<'_>) -> String {
        let sudo = if self.root { "" } else { "sudo " };
        let packages = missing.packages().join(" ");
        let is_here = |(program, _): &&(&str, &str)| self.find(program.as_ref()).is_some();
        match INSTALLERS.iter().find(is_here) {
            Some((_, command)) => format!("type: {sudo}{command} {packages}"),
            None => format!("install these packages of your system: {packages}"),
        }
    }
}

/// The tools that a command needs and this computer lacks.
#[derive(Debug)]
pub struct Missing<'a>(Vec<&'a Tool>);

impl Missing<'_> {
    /// Returns `true` if all tools are installed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the packages that contain the tools, without duplicates.
    pub fn packages(&self) -> Vec<&str> {
        let mut packages: Vec<&str> = Vec::new();
        for tool in &self.0 {
            if !packages.contains(&&*tool.package) {
                packages.push(&tool.package);
            }
        }
        packages
    }

    /// Returns a sentence that says which tools are not installed.
    pub fn not_installed(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|tool| &*tool.name).collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        format!("{} {are} not installed", names.join(", "))
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
