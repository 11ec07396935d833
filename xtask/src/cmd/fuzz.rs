//! `fuzz`: libFuzzer generates inputs for the code that must cope with any input.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use indicatif::{HumanCount, ProgressBar, ProgressFinish, ProgressStyle};

use crate::cargo::{passes, root, works};
use crate::tools::{self, CXX};
use vfalls::exit::Mismatch;
use vfalls::say::say;
use vfalls::table;

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

/// The directory of the corpus and of failing inputs, relative to the root of the workspace.
const PLACE: &str = "target/fuzz";

pub fn run(args: FuzzArgs) -> anyhow::Result<()> {
    let cargo = Fuzz::find()?;
    let wanted = |name: &str| args.target.as_deref().is_none_or(|target| target == name);
    cargo.build()?;
    let mut table =
        table::with_header("target|>minutes|>executions|>edges|>features|>inputs|found");
    let mut found = Vec::new();
    for (name, longest) in TARGETS.into_iter().filter(|(name, _)| wanted(name)) {
        let seen = cargo.run(name, longest, args.minutes)?;
        table.add_row([
            name.to_owned(),
            args.minutes.to_string(),
            HumanCount(seen.executions).to_string(),
            HumanCount(seen.edges).to_string(),
            HumanCount(seen.features).to_string(),
            HumanCount(seen.inputs).to_string(),
            match &seen.found {
                Some(path) => path.display().to_string(),
                None => "nothing".to_owned(),
            },
        ]);
        found.extend(seen.found.map(|_| name));
    }
    write!(std::io::stdout(), "{}", table::text(&table))?;
    ensure!(found.is_empty(), Mismatch(format!("found an input that fails: {}", found.join(", "))));
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
        command.args(["--fuzz-dir", "tests/fuzz", "--target-dir", PLACE]).stdin(Stdio::null());
        command
    }

    fn build(&self) -> anyhow::Result<()> {
        passes(&mut self.fuzz("build")).context("cargo fuzz build")
    }

    fn run(&self, name: &'static str, longest: u32, minutes: u64) -> anyhow::Result<Seen> {
        let place = root().join(PLACE);
        let [corpus, finds] = ["corpus", "found"].map(|folder| place.join(folder).join(name));
        for directory in [&corpus, &finds] {
            let cannot = || format!("{}: cannot be created", directory.display());
            fs::create_dir_all(directory).with_context(cannot)?;
        }
        let mut child = self
            .fuzz("run")
            .arg(name)
            .arg(corpus)
            .arg(root().join("tests/inputs/corpus").join(name))
            .arg("--")
            .arg(format!("-max_total_time={}", 60 * minutes))
            .arg(format!("-max_len={}", longest))
            .arg(format!("-artifact_prefix={}/", finds.display()))
            .arg("-timeout=20")
            .stderr(Stdio::piped())
            .spawn()
            .context("cargo fuzz cannot be run")?;
        let style = ProgressStyle::with_template("{spinner} {elapsed} {prefix}: {msg}")?;
        let spinner = ProgressBar::new_spinner()
            .with_style(style)
            .with_prefix(name)
            .with_finish(ProgressFinish::AndClear);
        spinner.enable_steady_tick(Duration::from_millis(100));
        let mut seen = Seen::default();
        let mut said = Vec::new();
        let lines = child.stderr.take().context("cargo fuzz has no standard error")?;
        for line in BufReader::new(lines).lines() {
            let line = line?;
            if seen.hear(&line) {
                let [executions, edges] = [seen.executions, seen.edges].map(HumanCount);
                spinner.set_message(format!("{executions} executions, {edges} edges"));
            } else if said.len() < 200 && !line.starts_with("INFO: ") {
                said.push(line);
            }
        }
        let status = child.wait()?;
        spinner.finish_and_clear();
        if !status.success() {
            say(said.join("\n"));
            ensure!(seen.found.is_some(), "{name} ended with {status}, but names no input");
        }
        Ok(seen)
    }
}

/// The figures of a run, from libFuzzer's reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    executions: u64,
    /// The number of edges of the control-flow graph that the inputs have reached.
    edges: u64,
    /// The number of features by which libFuzzer tells inputs apart: edges, how often they were taken, and compared values.
    features: u64,
    /// The number of inputs in the corpus.
    inputs: u64,
    /// The input that made the target fail; `None` if no input did.
    found: Option<PathBuf>,
}

impl Seen {
    /// Parses a line of libFuzzer's output. Returns whether it reports progress, such as `#1024
    /// pulse cov: 42 ft: 77 corp: 5/60b ...`.
    fn hear(&mut self, line: &str) -> bool {
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.found = Some(Path::new(path).to_owned());
        }
        let Some(rest) = line.strip_prefix('#') else {
            return false;
        };
        let mut words = rest.split_whitespace();
        let Some(executions) = words.next().and_then(|word| word.parse().ok()) else {
            return false;
        };
        self.executions = executions;
        while let Some(word) = words.next() {
            let number = match word {
                "cov:" => &mut self.edges,
                "ft:" => &mut self.features,
                "corp:" => &mut self.inputs,
                _ => continue,
            };
            let value = words.next().and_then(|word| word.split('/').next());
            if let Some(value) = value.and_then(|word| word.parse().ok()) {
                *number = value;
            }
        }
        true
    }
}

#[cfg(test)]
#[path = "tests/fuzz.rs"]
mod tests;
