//! A Rust toolchain that can build its own `core`, and the linker.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::tools;

/// A Rust compiler that has the source of its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Its `cargo`.
    pub cargo: PathBuf,
    /// Its `rustc`.
    pub rustc: PathBuf,
}

/// Where a toolchain keeps the source of the library.
const SOURCE: &str = "lib/rustlib/src/rust/library/Cargo.lock";

/// Debian's own toolchain, beside any of rustup.
const DEBIAN: &str = "/usr";

impl Toolchain {
    /// One of rustup's that has the component rust-src, newest name first; else Debian's, which is installed if need be.
    ///
    /// # Errors
    /// None is there and none can be installed; says what to type.
    pub fn find() -> anyhow::Result<Self> {
        tools::require("sparc64-linux-gnu-ld", "binutils-sparc64-linux-gnu")?;
        let of_rustup = rustup()
            .into_iter()
            .filter(|place| place.join(SOURCE).exists())
            .map(|place| Self::at(&place))
            .find(Self::is_new_enough);
        if let Some(toolchain) = of_rustup {
            return Ok(toolchain);
        }
        let debian = Self::at(Path::new(DEBIAN));
        let hint = || "no rustup toolchain has rust-src (rustup toolchain install nightly --component rust-src)";
        for (path, package) in [
            (&debian.rustc, "rustc-web"),
            (&debian.cargo, "cargo-web"),
            (&Path::new(DEBIAN).join(SOURCE), "rust-web-src"),
        ] {
            tools::require_file(path, package).with_context(hint)?;
        }
        Ok(debian)
    }

    /// Its cargo, which uses its rustc, and all of the unstable features that it takes to build a library of its own.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        // This program is run by a cargo, whose settings are not meant for this one.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let of_cargo = ["CARGO", "RUSTC", "RUSTUP", "RUSTFLAGS", "RUSTDOC"];
            let kept = ["CARGO_HOME", "RUSTUP_HOME", "CARGO_BUILD_JOBS"];
            if of_cargo.iter().any(|prefix| text.starts_with(prefix)) && !kept.contains(&&*text) {
                command.env_remove(name);
            }
        }
        command
            .env("RUSTC", &self.rustc)
            .env("RUSTC_BOOTSTRAP", "1");
        command
    }

    /// The version of LLVM that it compiles with.
    ///
    /// # Errors
    /// Its rustc cannot be run, or does not say.
    pub fn llvm(&self) -> anyhow::Result<String> {
        let output = Command::new(&self.rustc).arg("-vV").output();
        let output = output.with_context(|| format!("{} cannot be run", self.rustc.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("LLVM version: "));
        let version =
            version.with_context(|| format!("{} does not say its LLVM", self.rustc.display()))?;
        Ok(version.into())
    }

    fn at(place: &Path) -> Self {
        Self {
            cargo: place.join("bin/cargo"),
            rustc: place.join("bin/rustc"),
        }
    }

    /// Whether its cargo takes a target description with the option that newer ones ask for.
    fn is_new_enough(&self) -> bool {
        let help = Command::new(&self.cargo)
            .args(["-Z", "help"])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", &self.rustc)
            .output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("json-target-spec"))
    }
}

/// The directories of rustup's toolchains: names in reverse order, which has nightly before numbers.
fn rustup() -> Vec<PathBuf> {
    let home = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".rustup")));
    let Some(entries) = home.and_then(|home| fs::read_dir(home.join("toolchains")).ok()) else {
        return Vec::new();
    };
    let mut places = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect::<Vec<_>>();
    places.sort();
    places.reverse();
    places
}
