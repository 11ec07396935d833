//! `fuzz`: inputs that a fuzzer makes up, for what takes any input.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use indicatif::{HumanCount, ProgressBar, ProgressFinish, ProgressStyle};

use super::Mismatch;
use crate::cargo::root;
use crate::table::{Align, Table};
use crate::tools::{self, CXX};

/// Look for an input that something does not hold for
///
/// libFuzzer makes up inputs for each target and keeps those that reach new code, in target/fuzz/corpus; it begins with
/// these and with the inputs in tests/inputs/corpus. An input that something does not hold for ends the run with exit status
/// 1, and is in target/fuzz/found. Put into tests/inputs/corpus once it is mended, it is replayed by every cargo test.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz --target md_reader --minutes 30\n\n\
                        Needs a nightly toolchain and cargo-fuzz:\n  rustup toolchain install nightly --profile minimal\n  \
                        cargo install --locked cargo-fuzz@0.13.2"
)]
pub struct Args {
    /// One target only
    #[arg(long, value_name = "T", value_parser = clap::builder::PossibleValuesParser::new(TARGETS.map(|target| target.name)))]
    target: Option<String>,

    /// How long for each target
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
}

/// What takes any input.
struct Target {
    name: &'static str,
    /// In bytes. More makes each input slower and reaches nothing new.
    longest: u32,
}

const TARGETS: [Target; 4] = [
    Target {
        name: "hypercalls",
        longest: 4096,
    },
    Target {
        name: "md_reader",
        longest: 4096,
    },
    Target {
        name: "md_round_trip",
        longest: 2048,
    },
    Target {
        name: "trace_input",
        longest: 1024,
    },
];

/// Where the fuzzer works, below the root of the workspace.
const PLACE: &str = "target/fuzz";

/// Runs the fuzzer.
///
/// # Errors
/// [`Mismatch`] if it finds something. Otherwise what is missing, or cannot be built.
pub fn run(args: Args) -> anyhow::Result<()> {
    let cargo = Fuzz::find()?;
    let targets = TARGETS.iter().filter(|target| {
        args.target
            .as_deref()
            .is_none_or(|name| name == target.name)
    });
    cargo.build()?;
    let mut table = Table::new(&[
        ("target", Align::Left),
        ("minutes", Align::Right),
        ("executions", Align::Right),
        ("edges", Align::Right),
        ("features", Align::Right),
        ("inputs", Align::Right),
        ("found", Align::Left),
    ]);
    let mut found = Vec::new();
    for target in targets {
        let seen = cargo.run(target, args.minutes)?;
        table.row([
            target.name.to_owned(),
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
        found.extend(seen.found.map(|_| target.name));
    }
    write!(std::io::stdout(), "{table}")?;
    if !found.is_empty() {
        bail!(Mismatch(format!(
            "found an input that something does not hold for: {}",
            found.join(", ")
        )));
    }
    Ok(())
}

/// cargo-fuzz under the nightly toolchain.
struct Fuzz {
    rustup: PathBuf,
}

impl Fuzz {
    fn find() -> anyhow::Result<Self> {
        let rustup = tools::find("rustup")
            .context("rustup is not installed, expected it to run a nightly toolchain")?;
        let found = Self::under(rustup)?;
        // libFuzzer is built from source.
        CXX.require()?;
        Ok(found)
    }

    /// With what this rustup has installed.
    fn under(rustup: PathBuf) -> anyhow::Result<Self> {
        let found = Self { rustup };
        let works = |arguments: &[&str]| {
            let status = found
                .nightly(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status.is_ok_and(|status| status.success())
        };
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
        command
            .args(["run", "nightly"])
            .args(arguments)
            .current_dir(root());
        command
    }

    fn fuzz(&self, subcommand: &str) -> Command {
        let mut command = self.nightly(&["cargo", "fuzz", subcommand]);
        command
            .args(["--fuzz-dir", "tests/fuzz", "--target-dir", PLACE])
            .stdin(Stdio::null());
        command
    }

    fn build(&self) -> anyhow::Result<()> {
        let status = self
            .fuzz("build")
            .status()
            .context("cargo fuzz cannot be run")?;
        ensure!(status.success(), "cargo fuzz build failed with {status}");
        Ok(())
    }

    fn run(&self, target: &Target, minutes: u64) -> anyhow::Result<Seen> {
        let place = root().join(PLACE);
        let [corpus, finds] = ["corpus", "found"].map(|name| place.join(name).join(target.name));
        for directory in [&corpus, &finds] {
            let cannot = || format!("{}: cannot be created", directory.display());
            fs::create_dir_all(directory).with_context(cannot)?;
        }
        let mut child = self
            .fuzz("run")
            .arg(target.name)
            .arg(corpus)
            .arg(root().join("tests/inputs/corpus").join(target.name))
            .arg("--")
            .arg(format!("-max_total_time={}", 60 * minutes))
            .arg(format!("-max_len={}", target.longest))
            .arg(format!("-artifact_prefix={}/", finds.display()))
            .arg("-timeout=20")
            .stderr(Stdio::piped())
            .spawn()
            .context("cargo fuzz cannot be run")?;
        let style = ProgressStyle::with_template("{spinner} {elapsed} {prefix}: {msg}")?;
        let spinner = ProgressBar::new_spinner()
            .with_style(style)
            .with_prefix(target.name)
            .with_finish(ProgressFinish::AndClear);
        spinner.enable_steady_tick(Duration::from_millis(100));
        let mut seen = Seen::default();
        let mut said = Vec::new();
        let lines = child.stderr.take().context("it has been asked for")?;
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
            eprintln!("{}", said.join("\n"));
            ensure!(
                seen.found.is_some(),
                "{} ended with {status}, and with no input",
                target.name
            );
        }
        Ok(seen)
    }
}

/// What libFuzzer says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    executions: u64,
    /// Of the control flow, that it has come by.
    edges: u64,
    /// What it tells inputs apart by: edges, how often, and values that were compared.
    features: u64,
    /// How many inputs do so.
    inputs: u64,
    /// The input that something does not hold for.
    found: Option<PathBuf>,
}

impl Seen {
    /// Whether the line says how far it has come: `#1024 pulse  cov: 42 ft: 77 corp: 5/60b ...`.
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
mod tests {
    use super::*;
    use crate::tools::tests::program;

    #[test]
    fn what_libfuzzer_says_is_understood() {
        let mut seen = Seen::default();
        for (line, is_state) in [
            ("INFO: seed corpus: files: 9 min: 744b max: 3304b", false),
            (
                "#10\tINITED cov: 1055 ft: 2212 corp: 9/17Kb exec/s: 0 rss: 55Mb",
                true,
            ),
            (
                "#65536\tpulse  cov: 1211 ft: 4012 corp: 304/260Kb lim: 3304 exec/s: 3276 rss: 420Mb",
                true,
            ),
            ("#70000: of the target itself, cov: 1", false),
            (
                "artifact_prefix='found/'; Test unit written to found/crash-01",
                false,
            ),
        ] {
            assert_eq!(seen.hear(line), is_state, "{line}");
        }
        let expected = Seen {
            executions: 65536,
            edges: 1211,
            features: 4012,
            inputs: 304,
            found: Some("found/crash-01".into()),
        };
        assert_eq!(seen, expected);
    }

    #[test]
    fn says_what_to_type() {
        let name = format!("xtask-fuzz-{}", std::process::id());
        let rustup = std::env::temp_dir().join(name);
        for (script, expected) in [
            (
                "exit 1",
                Some("rustup toolchain install nightly --profile minimal"),
            ),
            (
                "test \"$*\" = \"run nightly rustc --version\"",
                Some("cargo install --locked cargo-fuzz@0.13.2"),
            ),
            ("exit 0", None),
        ] {
            program(&rustup, script);
            let error = Fuzz::under(rustup.clone()).err();
            let said = error.as_ref().map(ToString::to_string);
            let command = said.as_deref().and_then(|said| said.split(": ").nth(1));
            assert_eq!(command, expected, "{said:?}");
        }
        fs::remove_file(rustup).unwrap();
    }

    /// A target that is forgotten here is never run.
    #[test]
    fn every_target_is_known() {
        let mut files: Vec<String> = fs::read_dir(root().join("tests/fuzz/targets"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let known = TARGETS.map(|target| format!("{}.rs", target.name));
        assert_eq!(files, known);
    }
}
