//! Lists the public items of the library crates, one line each, in `xtask/api/listings`, so that a review sees every interface change.
//! `cargo xtask api` runs this program.
//!
//! rustdoc writes the items as JSON, and the crate `public-api` turns them into lines. Stable rustdoc writes JSON only with
//! `RUSTC_BOOTSTRAP` in its environment. With this variable, cargo itself would rebuild dependencies. Therefore, cargo starts this program
//! in place of rustdoc, and the program sets the variable for rustdoc.
//!
//! The exit status is 1 if `--check` finds a difference, and 2 if a listing cannot be created.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// The packages, and the Rust names of their libraries.
const LIBRARIES: [(&str, &str); 5] = [
    ("sun4v-guest-abi", "guest_abi"),
    ("sun4v-hv-core", "hv_core"),
    ("sun4v-platform", "platform"),
    ("sun4v-perfctr-service", "perfctr_service"),
    ("sun4v-simulator", "simulator"),
];

/// The version of rustdoc's JSON format that `public-api` reads.
const FORMAT: u32 = 57;

/// The environment variable that makes this program act as rustdoc. Its value is the path of rustdoc.
const RUSTDOC: &str = "VFALLS_API_RUSTDOC";

fn main() -> ExitCode {
    let (status, said) = if let Some(rustdoc) = env::var_os(RUSTDOC) {
        let mut command = Command::new(&rustdoc);
        let error = command.env("RUSTC_BOOTSTRAP", "1").args(env::args_os().skip(1)).exec();
        (2, format!("{}: {error}", rustdoc.display()))
    } else {
        match run(env::args().any(|argument| argument == "--check")) {
            Ok(differences) if differences.is_empty() => return ExitCode::SUCCESS,
            Ok(differences) => {
                let how = "if the change is meant, write the listings with: cargo xtask api";
                (1, format!("{}\n{how}", differences.join("\n")))
            }
            Err(error) => (2, format!("{error:#}")),
        }
    };
    // Ignores an error, because the exit status reports the failure, too.
    let _ = writeln!(io::stderr(), "error: {said}");
    ExitCode::from(status)
}

/// Writes the listings. With `check`, writes nothing, and returns the differences.
fn run(check: bool) -> anyhow::Result<Vec<String>> {
    let mut differences = Vec::new();
    for json in documented()? {
        let found = format_of(&json)?;
        if found != FORMAT {
            // Ignores an error, because the line is only a note.
            let _ = writeln!(
                io::stderr(),
                "not compared: this toolchain writes format {found} of rustdoc's JSON, public-api reads {FORMAT}"
            );
            return Ok(Vec::new());
        }
        let api = public_api::Builder::from_rustdoc_json(&json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()?;
        let listing = api.to_string();
        let name = json.with_extension("txt");
        let name = name.file_name().context("a listing has a name")?;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("listings").join(name);
        let shown = || path.display().to_string();
        if !check {
            fs::write(&path, listing).with_context(shown)?;
            continue;
        }
        let listed = fs::read_to_string(&path).with_context(shown)?;
        differences.extend(
            changes(&listed, &listing)
                .map(|change| format!("xtask/api/listings/{}: {change}", name.display())),
        );
    }
    Ok(differences)
}

/// Makes rustdoc write the JSON of all libraries, and returns the paths of the files.
fn documented() -> anyhow::Result<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program =
        |name: &str, plain: &str| env::var_os(name).unwrap_or_else(|| OsString::from(plain));
    let mut command = Command::new(program("CARGO", "cargo"));
    command.args(["doc", "--quiet", "--profile=quick", "--no-deps", "--all-features"]);
    command.args(LIBRARIES.iter().flat_map(|(package, _)| ["--package", *package]));
    command.current_dir(&root);
    command.env(RUSTDOC, program("RUSTDOC", "rustdoc")).env("RUSTDOC", env::current_exe()?);
    command.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    let status = command.status().context("cargo cannot be run")?;
    ensure!(status.success(), "cargo doc: {status}");
    Ok(LIBRARIES
        .iter()
        .map(|(_, library)| target.join("doc").join(format!("{library}.json")))
        .collect())
}

fn format_of(json: &Path) -> anyhow::Result<u32> {
    #[derive(Deserialize)]
    struct Format {
        format_version: u32,
    }
    let text = fs::read(json).with_context(|| json.display().to_string())?;
    Ok(serde_json::from_slice::<Format>(&text)?.format_version)
}

/// Returns the lines that are in only one of two listings.
fn changes(listed: &str, found: &str) -> impl Iterator<Item = String> {
    let only = |sign: char, lines: &str, others: &str| {
        let others: Vec<&str> = others.lines().collect();
        let only = lines.lines().filter(|line| !others.contains(line));
        only.map(|line| format!("{sign} {line}")).collect::<Vec<_>>()
    };
    let added = only('+', found, listed);
    only('-', listed, found).into_iter().chain(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_lines_of_one_listing() {
        let changes: Vec<String> = changes("a\nb\nc\n", "a\nc\nd\n").collect();
        assert_eq!(changes, ["- b", "+ d"]);
    }
}
