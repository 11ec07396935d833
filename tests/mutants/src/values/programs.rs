//! The test programs, and which mutants each of them reaches.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use vfalls::say::say;

use super::packages::{IGNORED, Package, Suite};
use crate::built::Program;
use crate::checkout::{Checkout, TestOutcome};
use crate::report::Verdict;

/// A test may take this many times as long with a mutant as without.
const LIMIT_FACTOR: u32 = 5;
const MIN_LIMIT: Duration = Duration::from_secs(10);

/// The maximum memory of a test program, in KiB.
const MEMORY: u32 = 12 << 20;

/// A test program, and what it does without a mutant.
pub(crate) struct Tests {
    name: String,
    program: Program,
    arguments: &'static str,
    limit: Duration,
    /// The numbers of the mutants that it executes.
    reached: BTreeSet<usize>,
}

/// Runs a package's programs without a mutant. They must pass.
pub(crate) fn prepare(
    checkout: &Checkout,
    package: &Package,
    programs: &[Program],
) -> anyhow::Result<Vec<Tests>> {
    let mut all: Vec<Tests> = Vec::new();
    for suite in package.suites {
        let folder = checkout.place().join(suite.folder);
        let is_new = |program: &&Program| {
            let is_it =
                |tests: &Tests| (&tests.program, tests.arguments) == (program, suite.arguments);
            !all.iter().any(is_it)
        };
        let is_of = |program: &&Program| {
            program.folder == folder && suite.target.is_none_or(|target| program.target == target)
        };
        let tests = programs.iter().filter(is_of).filter(is_new);
        let tests = tests.map(|program| Tests::new(checkout, suite, program.clone()));
        let mut tests = tests.collect::<anyhow::Result<Vec<_>>>()?;
        tests.sort_by_key(|tests| (!tests.program.is_unit, tests.limit));
        all.extend(tests);
    }
    Ok(all)
}

impl Tests {
    fn new(checkout: &Checkout, suite: &Suite, program: Program) -> anyhow::Result<Self> {
        let more = if suite.arguments == IGNORED { " --ignored" } else { "" };
        let name = format!("{} {}{more}", suite.folder, program.target);
        let (limit, arguments) = (Duration::from_secs(3600), suite.arguments);
        let mut tests = Self { name, program, arguments, limit, reached: BTreeSet::new() };
        let notes = checkout.place().join("target/reached");
        let _ = fs::remove_file(&notes);
        let (ended, time) =
            checkout.judge(tests.command().env("MUTANTS_REACHED", &notes), limit)?;
        ensure!(ended == TestOutcome::Passed, "without a mutant: {}: {ended:?}", tests.name);
        let notes = fs::read_to_string(&notes).unwrap_or_default();
        tests.reached = notes.lines().filter_map(|line| line.parse().ok()).collect();
        tests.limit = (time * LIMIT_FACTOR).max(MIN_LIMIT);
        say(format_args!(
            "without a mutant: {}: {} s, reaches {} mutants",
            tests.name,
            time.as_secs(),
            tests.reached.len()
        ));
        Ok(tests)
    }

    /// Returns a command that runs the tests, with limited memory.
    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]);
        command.arg(&self.program.path).args(self.arguments.split_whitespace());
        command.current_dir(&self.program.folder).env("CARGO_MANIFEST_DIR", &self.program.folder);
        command
    }
}

/// Runs the tests that reach a mutant until one fails.
pub(crate) fn judge(checkout: &Checkout, all: &[Tests], mutant: usize) -> anyhow::Result<Verdict> {
    let mut verdict = Verdict::Unreached;
    for tests in all.iter().filter(|tests| tests.reached.contains(&mutant)) {
        verdict = Verdict::Missed;
        let mut command = tests.command();
        match checkout.judge(command.env("MUTANT", mutant.to_string()), tests.limit)?.0 {
            TestOutcome::Failed(test) => {
                return Ok(Verdict::Caught(format!("{}: {test}", tests.name)));
            }
            TestOutcome::TimedOut => return Ok(Verdict::Late(tests.name.clone())),
            TestOutcome::NotBuilt => return Ok(Verdict::NoProgram),
            TestOutcome::Passed => {}
        }
    }
    Ok(verdict)
}
