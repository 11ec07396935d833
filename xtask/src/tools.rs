//! Programs that a command needs: found, or installed, or asked for with the command to type.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Finds `program`, in PATH or by its path, as a shell would.
#[must_use]
pub fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    Host::here().find(program.as_ref())
}

/// Finds `program`. If it is missing, installs `package` where that can be done (Debian and its relatives, as root).
///
/// # Errors
/// The program is missing and cannot be installed; says which command to type.
pub fn require(program: &str, package: &str) -> anyhow::Result<PathBuf> {
    Host::here().require(program, package)
}

/// Finds the file `path`, which `package` brings. Installs that as [`require`] does.
///
/// # Errors
/// As [`require`].
pub fn require_file(path: &Path, package: &str) -> anyhow::Result<()> {
    Host::here().require_file(path, package)
}

/// What installing depends on.
struct Host {
    path: OsString,
    root: bool,
}

/// How packages are installed, the first that is there: its program, and what to type.
const INSTALLERS: [(&str, &str); 6] = [
    ("apt-get", "apt-get install"),
    ("dnf", "dnf install"),
    ("zypper", "zypper install"),
    ("pacman", "pacman -S"),
    ("apk", "apk add"),
    ("pkg", "pkg install"),
];

impl Host {
    fn here() -> Self {
        // The owner of a process's directory is its effective user.
        let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        Self {
            path: env::var_os("PATH").unwrap_or_default(),
            root,
        }
    }

    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        if program.as_encoded_bytes().contains(&b'/') {
            return is_program(Path::new(program)).then(|| program.into());
        }
        env::split_paths(&self.path)
            .map(|directory| directory.join(program))
            .find(|path| is_program(path))
    }

    fn require(&self, program: &str, package: &str) -> anyhow::Result<PathBuf> {
        if let Some(path) = self.find(program.as_ref()) {
            return Ok(path);
        }
        self.install(program, package)?;
        let found = self.find(program.as_ref());
        found.with_context(|| format!("{package} is installed, but {program} is not found in PATH"))
    }

    fn require_file(&self, path: &Path, package: &str) -> anyhow::Result<()> {
        let name = path.display();
        if !path.exists() {
            self.install(&name.to_string(), package)?;
        }
        ensure!(
            path.exists(),
            "{package} is installed, but {name} is not there"
        );
        Ok(())
    }

    fn install(&self, wanted: &str, package: &str) -> anyhow::Result<()> {
        let apt = self.find("apt-get".as_ref()).filter(|_| self.root);
        let Some(apt) = apt else {
            bail!("{wanted} is not installed; {}", self.advice(package))
        };
        eprintln!("{wanted} is not installed; installing {package} ...");
        self.apt(&apt, &["update"])
            .and_then(|()| self.apt(&apt, &["install", "--yes", package]))
            .with_context(|| format!("{wanted} is not installed; {}", self.advice(package)))
    }

    /// Runs apt-get, unattended; what it prints goes to standard error.
    fn apt(&self, apt: &Path, arguments: &[&str]) -> anyhow::Result<()> {
        let status = Command::new(apt)
            .args(["--quiet=2", "-o", "DPkg::Lock::Timeout=120"])
            .args(arguments)
            .env("PATH", &self.path)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status()
            .context("apt-get cannot be run")?;
        ensure!(
            status.success(),
            "apt-get {} failed with {status}",
            arguments.join(" ")
        );
        Ok(())
    }

    fn advice(&self, package: &str) -> String {
        let sudo = if self.root { "" } else { "sudo " };
        let installer = INSTALLERS
            .iter()
            .find(|(program, _)| self.find(program.as_ref()).is_some());
        match installer {
            Some((_, command)) => format!("install it with: {sudo}{command} {package}"),
            None => format!("install the package {package} of your system"),
        }
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A host whose programs are those of a new directory.
    fn host(name: &str, root: bool) -> (Host, PathBuf) {
        let directory = env::temp_dir().join(format!("xtask-tools-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        (
            Host {
                path: directory.clone().into(),
                root,
            },
            directory,
        )
    }

    /// Makes a script. Another process writes it: what this one has open for writing, a child that another test
    /// starts at this moment has too, and a file that anyone may write to cannot be run.
    pub(crate) fn program(path: &Path, text: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
        let status = Command::new("sh")
            .args(["-c", write, "sh"])
            .arg(path)
            .arg(text)
            .status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn finds_what_can_be_run() {
        let (host, place) = host("find", false);
        program(&place.join("tool"), "exit 0");
        fs::write(place.join("text"), "").unwrap();
        fs::create_dir_all(place.join("folder")).unwrap();
        assert_eq!(host.find("tool".as_ref()), Some(place.join("tool")));
        assert_eq!(
            host.find(place.join("tool").as_ref()),
            Some(place.join("tool"))
        );
        assert_eq!(host.require("tool", "tool").unwrap(), place.join("tool"));
        assert_eq!(
            ["text", "folder", "none"].map(|name| host.find(name.as_ref())),
            [None, None, None]
        );
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn installs_as_root() {
        let (host, place) = host("install", true);
        let log = place.join("log");
        let tool = place.join("tool");
        // The package's tool appears with its installation, and only after an update.
        let script = format!(
            "echo \"$*\" >> {log}\ncase \"$*\" in *\" install --yes package\")\n \
             read -r first < {log}\n case $first in *\" update\") echo '#!/bin/sh' > {tool} && /bin/chmod +x {tool};; esac;;\nesac",
            log = log.display(),
            tool = tool.display()
        );
        program(&place.join("apt-get"), &script);
        assert_eq!(host.require("tool", "package").unwrap(), tool);
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 2);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn says_what_to_type() {
        let (mut host, place) = host("advice", false);
        let message = |host: &Host| format!("{:#}", host.require("tool", "package").unwrap_err());
        assert_eq!(
            message(&host),
            "tool is not installed; install the package package of your system"
        );
        program(&place.join("dnf"), "exit 1");
        assert_eq!(
            message(&host),
            "tool is not installed; install it with: sudo dnf install package"
        );
        program(&place.join("apt-get"), "exit 1");
        assert_eq!(
            message(&host),
            "tool is not installed; install it with: sudo apt-get install package"
        );
        host.root = true;
        let failed = message(&host);
        assert!(
            failed.starts_with("tool is not installed; install it with: apt-get install package: "),
            "{failed}"
        );
        assert!(
            failed.ends_with("apt-get update failed with exit status: 1"),
            "{failed}"
        );
        program(&place.join("apt-get"), "exit 0");
        assert_eq!(
            message(&host),
            "package is installed, but tool is not found in PATH"
        );
        fs::remove_dir_all(place).unwrap();
    }
}
