//! Runs cargo-mutants.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::mutant::Mutant;
use crate::outcome::{Outcome, outcomes};
use crate::suite::{MUTATED, NOT_MUTATED, Suite};
use xtask::cargo;
use xtask::qemu::big_endian;

/// The directories that cargo-mutants works in.
#[derive(Clone, Debug)]
pub(crate) struct Workshop {
    /// The copy of the workspace that it changes.
    pub(crate) tree: PathBuf,
    /// The target directory.
    pub(crate) target: PathBuf,
    /// The directory for its records.
    pub(crate) records: PathBuf,
}

/// The profile of Cargo.toml that tests are built with.
const PROFILE: &str = "mutants";

/// The limit for the tests of a mutant: so many times as long as they take without one, and at least so long.
const LIMIT: u32 = 5;
const SHORTEST_LIMIT: Duration = Duration::from_secs(20);

impl Workshop {
    /// Returns all mutants that there are.
    ///
    /// # Errors
    /// cargo-mutants fails.
    pub(crate) fn mutants(&self) -> anyhow::Result<Vec<Mutant>> {
        let mut command = self.cargo_mutants(false)?;
        command.args(["--list", "--json", "--workspace"]);
        for root in MUTATED {
            command.arg(format!("--file={root}/**"));
        }
        for file in NOT_MUTATED {
            command.arg(format!("--exclude={file}"));
        }
        const NAME: &str = "cargo mutants --list";
        serde_json::from_slice(&cargo::output(&mut command, NAME)?).context(NAME)
    }

    /// Runs a suite on some mutants, and calls `done` after each. Returns what became of each.
    ///
    /// # Errors
    /// The tests do not pass without a mutant, or cargo-mutants fails.
    pub(crate) fn run(
        &self,
        suite: &Suite,
        mutants: &[Mutant],
        mut done: impl FnMut(),
    ) -> anyhow::Result<Vec<Outcome>> {
        // By itself cargo-mutants would first run the tests of the mutated packages, not those of the suite.
        let limit = (self.time(suite)? * LIMIT).max(SHORTEST_LIMIT);
        let mut command = self.cargo_mutants(suite.on_sparc)?;
        command.args(["--in-place", "--caught", "--unviable", "--baseline=skip"]);
        command.arg(format!("--profile={PROFILE}"));
        command.arg(format!("--timeout={}", limit.as_secs_f64().ceil()));
        command.arg(format!("--test-package={}", suite.packages.join(",")));
        command.arg("--output").arg(&self.records);
        for argument in arguments(suite) {
            command.arg(format!("--cargo-arg={argument}"));
        }
        for mutant in mutants {
            command.arg(format!("--file={}", mutant.file));
            command.arg(format!("--re={}", mutant.pattern()));
        }
        // The first ends the arguments of cargo-mutants, the second those of cargo test.
        command.args(["--", "--"]).args(skipping(suite));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cargo cannot be run")?;
        let lines = child.stdout.take().context("cargo mutants says nothing")?;
        for line in BufReader::new(lines).lines() {
            let line = line?;
            // The name ends the line.
            if mutants.iter().any(|mutant| line.ends_with(&mutant.name)) {
                done();
            }
        }
        // The status only tells that some mutants were missed, or timed out; the records tell which.
        child.wait()?;
        let records = self.records.join("mutants.out");
        let text = fs::read(records.join("outcomes.json"))
            .with_context(|| format!("cargo mutants left no records in {}", records.display()))?;
        outcomes(&text, mutants)
            .with_context(|| format!("{}, see {}", suite.name, records.join("log").display()))
    }

    /// Returns how long the tests take without a mutant.
    fn time(&self, suite: &Suite) -> anyhow::Result<Duration> {
        let test = |more: &[&str]| {
            let mut command = self.cargo(suite.on_sparc)?;
            command.args(["test", "--quiet", "--profile", PROFILE]);
            for package in suite.packages {
                command.args(["--package", package]);
            }
            let output = command
                .args(arguments(suite))
                .args(more)
                .stdin(Stdio::null())
                .output()
                .context("cargo cannot be run")?;
            let said = [output.stdout, output.stderr].concat();
            ensure!(
                output.status.success(),
                "{}: do not pass without a mutant:\n{}",
                suite.name,
                String::from_utf8_lossy(&said).trim_end()
            );
            anyhow::Ok(())
        };
        test(&["--no-run"])?;
        let start = Instant::now();
        let skipping: Vec<&str> = ["--"].into_iter().chain(skipping(suite)).collect();
        test(&skipping)?;
        Ok(start.elapsed())
    }

    fn cargo_mutants(&self, on_sparc: bool) -> anyhow::Result<Command> {
        let mut command = self.cargo(on_sparc)?;
        command
            .args(["mutants", "--no-config", "--no-times"])
            .args(["--colors=never", "--annotations=none"]);
        Ok(command)
    }

    fn cargo(&self, on_sparc: bool) -> anyhow::Result<Command> {
        let mut command = match on_sparc {
            true => big_endian::cargo()?,
            false => cargo::cargo(),
        };
        command
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target);
        Ok(command)
    }
}

/// Returns the arguments of cargo for what it compiles.
fn arguments(suite: &Suite) -> impl Iterator<Item = &'static str> {
    let on_sparc = if suite.on_sparc {
        &big_endian::ARGUMENTS[..]
    } else {
        &[]
    };
    suite.targets.iter().chain(on_sparc).copied()
}

/// Returns arguments of the test programs that skip the slow tests.
fn skipping(suite: &Suite) -> impl Iterator<Item = &'static str> {
    suite.slow.iter().flat_map(|name| ["--skip", name])
}
