//! Calls of cargo and of the compiler on this workspace.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::say::say;
use crate::tools;

/// The root of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Options that have cargo show its progress and nothing else while it compiles, as in `.cargo/config.toml`.
const PROGRESS: [&str; 5] = [
    "--quiet",
    "--config",
    "term.progress.when='always'",
    "--config",
    "term.progress.width=80",
];

/// Returns the cargo that runs this program, or else the one in PATH.
fn program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// Returns a call of cargo in the root of the workspace.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(program());
    command.current_dir(root());
    command
}

/// Runs a command, which prints to the output and error of this process.
///
/// # Errors
/// The command cannot be run, or fails.
pub fn passes(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status();
    let name = || format!("{} cannot be run", command.get_program().display());
    let status = status.with_context(name)?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// Runs a command and returns what it writes to standard output.
///
/// # Errors
/// The command cannot be run, or fails; the message calls it `name`.
pub fn output(command: &mut Command, name: &str) -> anyhow::Result<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output =
        output.with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    ensure!(
        output.status.success(),
        "{name} failed with {}",
        output.status
    );
    Ok(output.stdout)
}

/// Runs a command that prints nothing. Returns whether it succeeds.
#[must_use]
pub fn works(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The arguments that a command hands on to the program that it becomes.
#[derive(clap::Args, Debug)]
pub struct HandedOn {
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

impl HandedOn {
    /// Returns the arguments with a `--` that comes first, which clap takes for its own.
    #[must_use]
    pub fn all(mut self) -> Vec<OsString> {
        if env::args_os().nth(2).is_some_and(|first| first == "--") {
            self.arguments.insert(0, "--".into());
        }
        self.arguments
    }
}

/// Returns a call of a program of the workspace, which is built first if necessary.
#[must_use]
pub fn package(
    name: &str,
    options: &[&str],
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    // In the directory that the command was typed in: paths among the arguments are relative to it.
    let mut command = Command::new(program());
    command
        .arg("run")
        .args(PROGRESS)
        .args(["--package", name, "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .args(options)
        .arg("--")
        .args(arguments);
    command
}

/// Builds a program of the workspace if necessary and replaces this process by it. Returns only if that fails.
///
/// # Errors
/// cargo cannot be run.
pub fn become_package(
    name: &str,
    options: &[&str],
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<()> {
    let error = package(name, options, arguments).exec();
    Err(error).context("cargo cannot be run")
}

/// Returns what the compiler of this workspace prints.
///
/// # Errors
/// The compiler cannot be run, or fails.
pub fn rustc(arguments: &[&str]) -> anyhow::Result<String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut rustc = Command::new(program);
    let printed = output(rustc.current_dir(root()).args(arguments), "rustc")?;
    Ok(String::from_utf8(printed)?.trim().to_owned())
}

/// Lets rustup, if it is installed, add components to the toolchain of this workspace, and calls `say` before. Returns
/// whether the components were added.
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

/// Returns the path of a program of crates.io in this version, which is built once and kept in the target directory.
///
/// # Errors
/// The program cannot be built; the message says what to type.
pub fn tool(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let place = format!("target/tools/{name}-{version}");
    let program = root().join(&place).join("bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    let package = format!("{name}@{version}");
    let install = ["install", "--locked", "--root", &place, &package];
    say(format_args!(
        "{name} {version} is not built yet; cargo {} ...",
        install.join(" ")
    ));
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

/// A package that cargo has built.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Builds a program of the workspace as a hypervisor image is built. Returns its path.
///
/// # Errors
/// The program cannot be built.
pub fn build(package: &str, program: &str) -> anyhow::Result<PathBuf> {
    let options = ["--quiet", "--profile", "image", "--bin", program];
    let built = artifacts(package, &options)?;
    let mut programs = built.into_iter().rev().filter_map(|one| one.executable);
    programs
        .next()
        .with_context(|| format!("cargo built no {program}"))
}

/// Builds a package of the workspace that is a shared library, if necessary. Returns its path.
///
/// # Errors
/// The library cannot be built.
pub fn build_library(package: &str) -> anyhow::Result<PathBuf> {
    // With the library that runs this: cargo compiles what both depend on anew if it builds one alone, with fewer features.
    let options = ["--release", "--lib", "--package", "xtask"];
    let built = artifacts(package, &[&PROGRESS[..], &options].concat())?;
    let name = format!(
        "{}{package}{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    let mut files = built.into_iter().flat_map(|one| one.filenames);
    let library = files.find(|file| file.file_name() == Some(OsStr::new(&name)));
    library.with_context(|| format!("cargo built no library of {package}"))
}

/// Returns what cargo builds of a package with these options.
fn artifacts(package: &str, options: &[&str]) -> anyhow::Result<Vec<Artifact>> {
    let mut build = cargo();
    build
        .args(["build", "--package", package])
        .args(options)
        .arg("--message-format=json-render-diagnostics");
    let printed = output(&mut build, &format!("cargo build of {package}"))?;
    let lines = String::from_utf8_lossy(&printed);
    Ok(lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}
