//! Cargo, at work on this workspace.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// The root of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// A call of cargo in the root of the workspace: the cargo that runs this program, if one does.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    command
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
