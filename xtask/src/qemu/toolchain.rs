//! Finds a Rust toolchain that can build its own `core`, and the linker.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::tools::{self, DEBIAN_RUST, SPARC_LD, Tool};

/// A Rust toolchain that has the source of the standard library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    pub cargo: PathBuf,
    pub rustc: PathBuf,
}

/// The path of a standard library source file, relative to the toolchain.
const SOURCE: &str = "lib/rustlib/src/rust/library/Cargo.lock";

/// The directory of Debian's own toolchain.
const DEBIAN: &str = "/usr";

impl Toolchain {
    /// Returns a rustup toolchain that has the component rust-src, preferably nightly. Otherwise returns Debian's toolchain, and
    /// installs it if necessary.
    pub fn find() -> anyhow::Result<Self> {
        let (toolchain, tools) = Self::choose();
        let required = tools::require(&tools);
        if toolchain.rustc.starts_with(DEBIAN) {
            let hint = "no rustup toolchain has rust-src (rustup toolchain install nightly --component rust-src)";
            required.context(hint)?;
        } else {
            required?;
        }
        Ok(toolchain)
    }

    /// Returns the tools that [`find`](Self::find) needs.
    pub fn tools() -> Vec<Tool> {
        Self::choose().1
    }

    fn choose() -> (Self, Vec<Tool>) {
        match rustup_home().and_then(|home| Self::from_rustup(&home)) {
            Some(toolchain) => (toolchain, vec![SPARC_LD]),
            None => {
                let tools = [&[SPARC_LD], &DEBIAN_RUST[..]].concat();
                (Self::at(Path::new(DEBIAN)), tools)
            }
        }
    }

    /// Returns the first suitable rustup toolchain. The names are in reverse order, so that nightly comes before numbered versions.
    fn from_rustup(home: &Path) -> Option<Self> {
        let entries = fs::read_dir(home.join("toolchains")).ok()?;
        let mut places = entries.filter_map(|entry| Some(entry.ok()?.path())).collect::<Vec<_>>();
        places.sort();
        places
            .iter()
            .rev()
            .filter(|place| place.join(SOURCE).exists())
            .map(|place| Self::at(place))
            .find(Self::is_new_enough)
    }

    /// Returns a command that runs the toolchain's cargo. Permits unstable features, because building the standard library needs
    /// them.
    pub fn cargo(&self) -> Command {
        self.command(&self.cargo)
    }

    /// Returns a shell command whose PATH begins with this toolchain. Permits unstable features.
    pub fn shell(&self) -> Command {
        let mut path = OsString::from(self.cargo.parent().unwrap_or(&self.cargo));
        if let Some(others) = env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        let mut shell = self.command(Path::new("sh"));
        shell.env("PATH", path);
        shell
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Settings of the cargo that runs this program must not reach the toolchain's cargo.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let of_cargo = ["CARGO", "RUSTC", "RUSTUP", "RUSTFLAGS", "RUSTDOC"];
            let kept = ["CARGO_HOME", "RUSTUP_HOME", "CARGO_BUILD_JOBS"];
            if of_cargo.iter().any(|prefix| text.starts_with(prefix)) && !kept.contains(&&*text) {
                command.env_remove(name);
            }
        }
        command.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        command
    }

    fn at(place: &Path) -> Self {
        Self { cargo: place.join("bin/cargo"), rustc: place.join("bin/rustc") }
    }

    /// Returns whether the toolchain's cargo has the option for target descriptions.
    fn is_new_enough(&self) -> bool {
        let help = Command::new(&self.cargo)
            .args(["-Z", "help"])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", &self.rustc)
            .output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("json-target-spec"))
    }
}

fn rustup_home() -> Option<PathBuf> {
    env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".rustup")))
}

#[cfg(test)]
#[path = "tests/toolchain.rs"]
mod tests;
