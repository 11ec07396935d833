//! `coverage`: how much of the library crates the tests execute.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::cargo::{self, root};
use crate::tools::{self, Tool};
use vfalls::interrupt;
use vfalls::output::Force;
use vfalls::say::say;
use vfalls::table;

/// Print line and branch coverage of the library crates
///
/// Runs all tests of the workspace, instrumented by cargo-llvm-cov, which is built first if necessary. Does not measure code for SPARC V9,
/// which this host does not compile, or the C interface, which programs in C test.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask coverage --json coverage.json")]
pub struct CoverageArgs {
    /// Write the numbers to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

const CRATES: [&str; 4] = ["guest-abi", "hv-core", "platform", "perfctr-service"];

/// The C interface. Programs in C test it, and their coverage is not measured.
const FROM_C: &str = "c";

const VERSION: &str = "0.9.1";

pub fn run(args: CoverageArgs) -> anyhow::Result<()> {
    interrupt::catch()?;
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    let export = measure()?;
    let coverage = Coverage::new(&export, root());
    write!(io::stdout().lock(), "{}", coverage.table())?;
    if let Some(file) = file {
        file.complete_json(&coverage)?;
    }
    Ok(())
}

/// Runs the tests, and prints their output on standard error. Returns the coverage.
fn measure() -> anyhow::Result<Export> {
    let program = cargo::tool("cargo-llvm-cov", VERSION)?;
    // Programs that were built from older sources would count, too, so delete them first.
    let mut clean = Command::new(&program);
    clean.current_dir(root()).args(["llvm-cov", "clean", "--workspace"]);
    cargo::passes(&mut clean).context("cargo llvm-cov clean")?;
    let report = root().join("target/coverage.json");
    let mut command = Command::new(program);
    command
        .current_dir(root())
        .args(["llvm-cov", "test", "--workspace"])
        .args(["--branch", "--json", "--summary-only"])
        .args(["--exclude-from-report", "sun4v-simulator"])
        .args(["--exclude-from-report", "xtask"])
        .args(["--exclude-from-report", "tests"])
        .args(["--exclude-from-report", "sun4v-conform"])
        .envs(llvm()?)
        // The option that counts branches is not stable.
        .env("RUSTC_BOOTSTRAP", "1")
        // Some tests make millions of calls, and take minutes without optimisation.
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .arg("--output-path")
        .arg(&report)
        .stdout(io::stderr());
    cargo::passes(&mut command).context("cargo llvm-cov")?;
    let text = std::fs::read(&report).with_context(|| format!("{}", report.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{}", report.display()))
}

/// Returns the environment variables that tell cargo-llvm-cov where the compiler's LLVM tools are. If the toolchain contains the tools, no
/// variables are needed. Otherwise the variables name Debian's tools of the same version.
fn llvm() -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let own = Path::new(&cargo::rustc(&["--print", "target-libdir"])?).join("../bin/llvm-cov");
    let say = || say("installing the component llvm-tools of the Rust toolchain ...");
    if own.exists() || cargo::add_components(&["llvm-tools"], say) && own.exists() {
        return Ok(Vec::new());
    }
    let about = cargo::rustc(&["-vV"])?;
    let version = about
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))
        .and_then(|version| version.split('.').next())
        .context("rustc -vV names no version of LLVM")?;
    let tool = |name: &str| {
        tools::path(&Tool::llvm(name, version))
            .context("the toolchain has no llvm-tools (rustup component add llvm-tools)")
    };
    Ok(vec![("LLVM_COV", tool("llvm-cov")?), ("LLVM_PROFDATA", tool("llvm-profdata")?)])
}

/// The output of `llvm-cov export`, as far as this command reads it.
#[derive(Deserialize)]
struct Export {
    data: Vec<ExportData>,
}

#[derive(Deserialize)]
struct ExportData {
    files: Vec<ExportFile>,
}

#[derive(Deserialize)]
struct ExportFile {
    filename: PathBuf,
    summary: Summary,
}

/// The coverage of one or more files.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Summary {
    lines: Share,
    branches: Share,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Share {
    covered: u64,
    count: u64,
}

impl Share {
    fn add(&mut self, other: Self) {
        self.covered += other.covered;
        self.count += other.count;
    }

    fn cells(self) -> [String; 2] {
        let Self { covered, count } = self;
        if count == 0 {
            return [String::new(), String::new()];
        }
        let percent = 100.0 * covered as f64 / count as f64;
        [format!("{covered}/{count}"), format!("{percent:.1} %")]
    }
}

/// The coverage of each crate, with its files.
#[derive(Debug, Serialize)]
struct Coverage(BTreeMap<&'static str, OfCrate>);

#[derive(Debug, Default, Serialize)]
struct OfCrate {
    all: Summary,
    files: BTreeMap<String, Summary>,
}

impl Coverage {
    fn new(export: &Export, root: &Path) -> Self {
        let mut crates: BTreeMap<_, OfCrate> = BTreeMap::new();
        for file in export.data.iter().flat_map(|data| &data.files) {
            for name in CRATES {
                let Ok(path) = file.filename.strip_prefix(root.join(name)) else {
                    continue;
                };
                if path.starts_with(FROM_C) {
                    continue;
                }
                let of_crate = crates.entry(name).or_default();
                of_crate.all.lines.add(file.summary.lines);
                of_crate.all.branches.add(file.summary.branches);
                of_crate.files.insert(path.display().to_string(), file.summary);
            }
        }
        Self(crates)
    }

    fn table(&self) -> String {
        let mut table = table::with_header("file|>lines|>|>branches|>");
        let mut row = |name: String, summary: Summary| {
            let cells = [summary.lines.cells(), summary.branches.cells()];
            table.add_row([name].into_iter().chain(cells.into_iter().flatten()));
        };
        let mut all = Summary::default();
        for (name, of_crate) in &self.0 {
            row((*name).to_owned(), of_crate.all);
            for (file, summary) in &of_crate.files {
                row(format!("  {file}"), *summary);
            }
            all.lines.add(of_crate.all.lines);
            all.branches.add(of_crate.all.branches);
        }
        row("all four".to_owned(), all);
        table::text(&table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_summed_up() {
        let export = r#"{"data": [{"files": [
            {"filename": "/w/hv-core/src/a.rs", "summary": {
                "lines": {"count": 8, "covered": 6, "percent": 75.0}, "branches": {"count": 0, "covered": 0}}},
            {"filename": "/w/hv-core/src/b.rs", "summary": {
                "lines": {"count": 92, "covered": 92}, "branches": {"count": 4, "covered": 3}}},
            {"filename": "/w/hv-core/c/src/c.rs", "summary": {
                "lines": {"count": 1, "covered": 0}, "branches": {"count": 1, "covered": 0}}},
            {"filename": "/w/hv-core-other/src/b.rs", "summary": {
                "lines": {"count": 1, "covered": 0}, "branches": {"count": 1, "covered": 0}}}
        ]}]}"#;
        let coverage = Coverage::new(&serde_json::from_str(export).unwrap(), Path::new("/w"));
        assert_eq!(
            coverage.table(),
            "file         lines           branches\n\
             hv-core     98/100   98.0 %       3/4  75.0 %\n  \
             src/a.rs     6/8   75.0 %\n  \
             src/b.rs   92/92  100.0 %       3/4  75.0 %\n\
             all four    98/100   98.0 %       3/4  75.0 %\n"
        );
        let json = serde_json::to_value(&coverage).unwrap();
        assert_eq!(json["hv-core"]["all"]["lines"]["covered"], 98);
        assert_eq!(json["hv-core"]["files"]["src/b.rs"]["branches"]["count"], 4);
    }
}
