//! Calls cargo and rustc in this workspace.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::tools;

/// Returns the root directory of the workspace.
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// The options that make cargo show only its progress. `.cargo/config.toml` has the same options.
const PROGRESS: [&str; 5] =
    ["--quiet", "--config", "term.progress.when='always'", "--config", "term.progress.width=80"];

/// Returns the path of the cargo that runs this program, or else `cargo`, to be found in PATH.
fn program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// Returns a cargo command that runs in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(program());
    command.current_dir(root());
    command
}

/// Runs a command that shares this process's standard output and error. Fails if the command fails.
pub(crate) fn passes(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status();
    let name = || format!("{} cannot be run", command.get_program().display());
    let status = status.with_context(name)?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// Runs a command and returns its standard output. `name` is what error messages call the command.
pub fn output(command: &mut Command, name: &str) -> anyhow::Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output =
        output.with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    ensure!(output.status.success(), "{name} failed with {}", output.status);
    Ok(output.stdout)
}

/// Runs a command without showing its output. Returns whether the command succeeds.
pub(crate) fn works(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Builds a program of the workspace, and replaces this process with it. Returns only on failure.
pub(crate) fn become_package(
    name: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<()> {
    // Does not change the current directory, because arguments may contain paths relative to it.
    let mut command = Command::new(program());
    command
        .arg("run")
        .args(PROGRESS)
        .args(["--profile=quick", "--package", name, "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .arg("--")
        .args(arguments);
    Err(command.exec()).context("cargo cannot be run")
}

/// If rustup is installed, calls `say`, and adds components to this workspace's toolchain. Returns whether the components were added.
pub(crate) fn add_components(components: &[&str], say: impl FnOnce()) -> bool {
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

/// The fields that this program reads from cargo's message about a built package.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
}

/// Builds a program of the workspace with the profile of hypervisor images. Returns its path.
pub(crate) fn build(package: &str, program: &str) -> anyhow::Result<PathBuf> {
    executable(package, program, &["--quiet", "--profile", "image"])
}

/// Builds `vfalls` as its users do, with the profile `quick`. Returns its path.
pub(crate) fn vfalls() -> anyhow::Result<PathBuf> {
    executable("vfalls", "vfalls", &[&PROGRESS[..], &["--profile=quick"]].concat())
}

fn executable(package: &str, program: &str, options: &[&str]) -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--package", package]).args(options);
    build.args(["--bin", program, "--message-format=json-render-diagnostics"]);
    let printed = output(&mut build, &format!("cargo build of {package}"))?;
    let printed = String::from_utf8_lossy(&printed);
    let artifacts = printed.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
    artifacts
        .filter_map(|artifact: Artifact| artifact.executable)
        .next()
        .with_context(|| format!("cargo built no {program}"))
}

/// Runs cargo with arguments separated by spaces.
pub(crate) fn run_cargo(arguments: &str) -> anyhow::Result<()> {
    passes(cargo().args(arguments.split(' ')))
}

/// Adds `flags` to an environment variable that holds flags for a compiler.
pub(crate) fn with_flags(command: &mut Command, name: &str, flags: &str) {
    let before = env::var(name).unwrap_or_default();
    command.env(name, format!("{before} {flags}").trim());
}
