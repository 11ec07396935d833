//! A Rust toolchain that can build its own `core`, and the linker.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::tools::{self, DEBIAN_RUST, SPARC_LD, Tool};

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
    /// Returns a toolchain of rustup that has the component rust-src, nightly before the others; else Debian's, which is
    /// installed if necessary.
    ///
    /// # Errors
    /// No toolchain is found, and none can be installed; the message says what to type.
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
    #[must_use]
    pub fn tools() -> Vec<Tool> {
        Self::choose().1
    }

    fn choose() -> (Self, Vec<Tool>) {
        match rustup_home().and_then(|home| Self::of_rustup(&home)) {
            Some(toolchain) => (toolchain, vec![SPARC_LD]),
            None => {
                let tools = [&[SPARC_LD], &DEBIAN_RUST[..]].concat();
                (Self::at(Path::new(DEBIAN)), tools)
            }
        }
    }

    /// Returns the first suitable toolchain of rustup. Names are in reverse order, which puts nightly before numbers.
    fn of_rustup(home: &Path) -> Option<Self> {
        let entries = fs::read_dir(home.join("toolchains")).ok()?;
        let mut places = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect::<Vec<_>>();
        places.sort();
        places
            .iter()
            .rev()
            .filter(|place| place.join(SOURCE).exists())
            .map(|place| Self::at(place))
            .find(Self::is_new_enough)
    }

    /// Returns a call of its cargo with its rustc, and with unstable features, which building the standard library needs.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        // The settings of the cargo that runs this program are not meant for this one.
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

    fn at(place: &Path) -> Self {
        Self {
            cargo: place.join("bin/cargo"),
            rustc: place.join("bin/rustc"),
        }
    }

    /// Returns whether its cargo has the option for target descriptions.
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
mod tests {
    use super::*;
    use crate::tools::tests::program;

    /// Makes a directory of rustup with toolchains: the name, whether it has rust-src, and what its cargo prints for `-Z help`.
    fn rustup(name: &str, toolchains: &[(&str, bool, &str)]) -> PathBuf {
        let home = env::temp_dir().join(format!("xtask-toolchain-{}-{name}", std::process::id()));
        for (toolchain, has_source, help) in toolchains {
            let place = home.join("toolchains").join(toolchain);
            fs::create_dir_all(place.join("bin")).unwrap();
            program(&place.join("bin/cargo"), &format!("echo '{help}'"));
            if *has_source {
                let source = place.join(SOURCE);
                fs::create_dir_all(source.parent().unwrap()).unwrap();
                fs::write(source, "").unwrap();
            }
        }
        home
    }

    const NEW: &str = "    -Z build-std  --  ...\n    -Z json-target-spec  --  ...";
    const OLD: &str = "    -Z build-std  --  ...";

    #[test]
    fn one_of_rustup_with_the_source_is_taken() {
        for (toolchains, expected) in [
            (&[][..], None),
            (&[("nightly", false, NEW)], None),
            (&[("nightly", true, OLD)], None),
            (&[("nightly", true, NEW)], Some("nightly")),
            // Which of several: nightly before stable numbers, unless it lacks something.
            (
                &[("1.96.0", true, NEW), ("nightly", true, NEW)],
                Some("nightly"),
            ),
            (
                &[("1.96.0", true, NEW), ("nightly", false, NEW)],
                Some("1.96.0"),
            ),
            (
                &[("1.96.0", true, NEW), ("nightly", true, OLD)],
                Some("1.96.0"),
            ),
            (
                &[("1.95.0", true, NEW), ("1.96.0", true, NEW)],
                Some("1.96.0"),
            ),
        ] {
            let home = rustup("find", toolchains);
            let found = Toolchain::of_rustup(&home);
            let expected = expected.map(|name| Toolchain::at(&home.join("toolchains").join(name)));
            assert_eq!(found, expected, "{toolchains:?}");
            let _ = fs::remove_dir_all(&home);
        }
    }

    #[test]
    fn a_toolchain_is_its_own_cargo_and_rustc() {
        let toolchain = Toolchain::at(Path::new("/a"));
        assert_eq!(toolchain.cargo, Path::new("/a/bin/cargo"));
        let command = toolchain.cargo();
        let variable = |name: &str| {
            let mut all = command.get_envs();
            all.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        assert_eq!(command.get_program(), "/a/bin/cargo");
        assert_eq!(variable("RUSTC"), Some(Some("/a/bin/rustc".as_ref())));
        assert_eq!(variable("RUSTC_BOOTSTRAP"), Some(Some("1".as_ref())));
        // The cargo that runs this test has set this variable.
        assert_eq!(variable("CARGO_MANIFEST_DIR"), Some(None));
    }
}
