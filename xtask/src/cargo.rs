//! Cargo and what belongs to it, at work on this workspace.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::tools;

/// The root of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Options that have cargo show how far it is while it compiles, and nothing else. As in `.cargo/config.toml`.
const PROGRESS: [&str; 5] = [
    "--quiet",
    "--config",
    "term.progress.when='always'",
    "--config",
    "term.progress.width=80",
];

/// The cargo that runs this program, if one does.
fn program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// A call of cargo in the root of the workspace.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(program());
    command.current_dir(root());
    command
}

/// Runs a command; what it prints is seen.
///
/// # Errors
/// It cannot be run, or fails.
pub fn passes(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status();
    let name = || format!("{} cannot be run", command.get_program().display());
    let status = status.with_context(name)?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// Builds a program of the workspace, where that is needed, and becomes it: nothing follows, if there is no error.
///
/// # Errors
/// cargo cannot be run.
pub fn become_package(
    name: &str,
    options: &[&str],
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<()> {
    // In the directory that the command was typed in: paths among the arguments are relative to it.
    let error = Command::new(program())
        .arg("run")
        .args(PROGRESS)
        .args(["--package", name, "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .args(options)
        .arg("--")
        .args(arguments)
        .exec();
    Err(error).context("cargo cannot be run")
}

/// What the compiler of this workspace says of itself.
///
/// # Errors
/// It cannot be run.
pub fn rustc(arguments: &[&str]) -> anyhow::Result<String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(program)
        .current_dir(root())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("rustc cannot be run")?;
    ensure!(
        output.status.success(),
        "rustc failed with {}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Lets rustup, if it is there, add components to the toolchain of this workspace; `say` is called before. Returns whether it
/// added them.
#[must_use]
pub fn add_components(components: &[&str], say: impl FnOnce()) -> bool {
    let Some(rustup) = tools::find("rustup") else {
        return false;
    };
    say();
    Command::new(rustup)
        .current_dir(root())
        .args(["component", "add"])
        .args(components)
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .is_ok_and(|status| status.success())
}

/// A program of crates.io in this version, built once and kept in the target directory.
///
/// # Errors
/// It cannot be built; says what to type.
pub fn tool(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let place = format!("target/tools/{name}-{version}");
    let program = root().join(&place).join("bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    let package = format!("{name}@{version}");
    let install = ["install", "--locked", "--root", &place, &package];
    eprintln!(
        "{name} {version} is not there; cargo {} ...",
        install.join(" ")
    );
    let status = cargo()
        .args(install)
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status();
    if !status.is_ok_and(|status| status.success()) || !program.exists() {
        bail!(
            "{name} {version} cannot be built; try: cargo {}",
            install.join(" ")
        );
    }
    Ok(program)
}

/// What cargo says of a file that it has built.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
}

/// Builds a program of the workspace as a hypervisor image is built, and says where it is.
///
/// # Errors
/// It cannot be built.
pub fn build(package: &str, program: &str) -> anyhow::Result<PathBuf> {
    let output = cargo()
        .args(["build", "--quiet", "--profile", "image"])
        .args(["--package", package, "--bin", program])
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(
        output.status.success(),
        "cargo build of {program} failed with {}",
        output.status
    );
    let lines = String::from_utf8_lossy(&output.stdout);
    lines
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str::<Artifact>(line).ok()?.executable)
        .with_context(|| format!("cargo built no {program}"))
}
