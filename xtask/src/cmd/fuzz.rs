//! `fuzz`: has libFuzzer generate inputs for the code that must cope with any input.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::cargo::{passes, root, works};
use crate::tools::{self, CXX};
use vfalls::exit::Mismatch;

/// Look for inputs that make the code crash or break an invariant
///
/// libFuzzer generates inputs for each target from the inputs in tests/inputs/corpus and target/fuzz/corpus, and adds inputs that reach new
/// code to target/fuzz/corpus. An input that fails ends the run of its target, is kept in target/fuzz/found, and makes the exit status 1.
/// When the defect is fixed, put the input into tests/inputs/corpus: every cargo test replays it from there.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz --target md_reader --minutes 30\n\n\
                        Needs a nightly toolchain and cargo-fuzz:\n  rustup toolchain install nightly --profile minimal\n  \
                        cargo install --locked cargo-fuzz@0.13.2"
)]
pub struct FuzzArgs {
    /// Fuzz only this target
    #[arg(long, value_name = "T", value_parser = clap::builder::PossibleValuesParser::new(TARGETS.map(|(name, _)| name)))]
    target: Option<String>,

    /// The minutes for each target
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
}

/// The targets, and the maximum length of their inputs in bytes. Longer inputs would be slower without reaching new code.
const TARGETS: [(&str, u32); 5] = [
    ("gdb_packets", 1024),
    ("hypercalls", 4096),
    ("md_reader", 4096),
    ("md_round_trip", 2048),
    ("recording_input", 1024),
];

/// The directory for the corpus and for failing inputs, relative to the root of the workspace.
const DIRECTORY: &str = "target/fuzz";

pub fn run(args: FuzzArgs) -> anyhow::Result<()> {
    let cargo = Fuzz::find()?;
    passes(&mut cargo.fuzz("build")).context("cargo fuzz build")?;
    let mut failed = Vec::new();
    for (name, longest) in TARGETS {
        if args.target.as_deref().is_none_or(|target| target == name)
            && !cargo.run(name, longest, args.minutes)?
        {
            failed.push(name);
        }
    }
    ensure!(
        failed.is_empty(),
        Mismatch(format!("found an input that fails: {}", failed.join(", ")))
    );
    Ok(())
}

/// Runs cargo-fuzz with the nightly toolchain.
struct Fuzz {
    rustup: PathBuf,
}

impl Fuzz {
    fn find() -> anyhow::Result<Self> {
        let rustup = tools::find("rustup")
            .context("rustup is not installed, expected it to run a nightly toolchain")?;
        let found = Self::under(rustup)?;
        // libFuzzer is built from source, which is C++.
        tools::path(&CXX)?;
        Ok(found)
    }

    /// Checks that a nightly toolchain and cargo-fuzz are installed.
    fn under(rustup: PathBuf) -> anyhow::Result<Self> {
        let found = Self { rustup };
        let works = |arguments: &[&str]| works(&mut found.nightly(arguments));
        ensure!(
            works(&["rustc", "--version"]),
            "no nightly toolchain is installed; install it with: rustup toolchain install nightly --profile minimal"
        );
        ensure!(
            works(&["cargo", "fuzz", "--version"]),
            "cargo-fuzz is not installed; install it with: cargo install --locked cargo-fuzz@0.13.2"
        );
        Ok(found)
    }

    fn nightly(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.rustup);
        command.args(["run", "nightly"]).args(arguments).current_dir(root());
        command
    }

    fn fuzz(&self, subcommand: &str) -> Command {
        let mut command = self.nightly(&["cargo", "fuzz", subcommand]);
        command.args(["--fuzz-dir", "tests/fuzz", "--target-dir", DIRECTORY]).stdin(Stdio::null());
        command
    }

    /// Runs a target, which reports its progress. Returns `false` if an input makes the target fail.
    fn run(&self, name: &str, longest: u32, minutes: u64) -> anyhow::Result<bool> {
        let place = root().join(DIRECTORY);
        let [corpus, finds] = ["corpus", "found"].map(|folder| place.join(folder).join(name));
        for directory in [&corpus, &finds] {
            let cannot = || format!("{}: cannot be created", directory.display());
            fs::create_dir_all(directory).with_context(cannot)?;
        }
        let mut run = self.fuzz("run");
        run.arg(name).arg(corpus).arg(root().join("tests/inputs/corpus").join(name)).arg("--");
        run.arg(format!("-max_total_time={}", 60 * minutes)).arg(format!("-max_len={longest}"));
        run.arg(format!("-artifact_prefix={}/", finds.display())).arg("-timeout=20");
        Ok(run.status().context("cargo fuzz cannot be run")?.success())
    }
}

#[cfg(test)]
#[path = "tests/fuzz.rs"]
mod tests;
