//! Mutation testing: cargo-mutants changes the code in one place, and a test should fail. Run it by `cargo xtask mutants`.
#![forbid(unsafe_code)]
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod explained;
mod mutant;
mod outcome;
mod suite;
mod tree;
mod workshop;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use nix::fcntl::{Flock, FlockArg};
use serde::Serialize;

use xtask::cargo::{cargo, root, works};
use xtask::cmd::Mismatch;
use xtask::exit;
use xtask::output::Force;
use xtask::table::Table;

use explained::Explained;
use mutant::Mutant;
use outcome::{Outcome, Tally};
use suite::SUITES;
use workshop::Workshop;

/// Change the code in one place at a time, and check that the tests notice
///
/// Draws a sample of the mutants that cargo-mutants makes of guest-abi, hv-core, perfctr-service and the reader of machine
/// descriptions, and runs the fast tests of the workspace on each. The same seed draws the same sample. The exit status is
/// 1 if the tests catch fewer than 97% of the mutants that compile, or miss one that tests/mutants.toml does not explain.
/// Works in a copy under target/mutants. 400 mutants take about half an hour on two cores.
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask mutants",
    bin_name = "cargo xtask mutants",
    after_help = "Examples:\n  cargo xtask mutants\n  \
                  cargo xtask mutants --seed 7 --count 50 --file hv-core/src/trace --json mutants.json"
)]
struct Args {
    /// The seed of the sample
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Draw so many mutants
    #[arg(long, value_name = "NUMBER", default_value_t = 400)]
    count: usize,
    /// Only mutants of this file, or of the files below this directory (may be repeated)
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Write the outcome of each mutant to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// Installs the version that this program was written for.
const INSTALL: &str = "cargo install --locked cargo-mutants@27.1.0";

/// How many of a thousand viable mutants the tests have to catch.
const TO_CATCH: usize = 970;

/// A mutant and what became of it.
#[derive(Serialize)]
struct Ran {
    #[serde(flatten)]
    mutant: Mutant,
    outcome: Outcome,
    /// Why no test notices it, if tests/mutants.toml explains that.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What goes into the file.
#[derive(Serialize)]
struct Report<'a> {
    seed: u64,
    total: Tally,
    packages: &'a BTreeMap<String, Tally>,
    mutants: &'a [Ran],
}

fn main() -> ExitCode {
    exit::main(run)
}

/// Runs the mutants, as `args` say.
///
/// # Errors
/// [`Mismatch`] if the tests miss too many. cargo-mutants is missing, the tests do not pass without a mutant, the list
/// of explanations is out of date, the file cannot be written, or another run is under way.
fn run(args: Args) -> anyhow::Result<()> {
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    ensure!(
        works(cargo().args(["mutants", "--version"])),
        "cargo mutants is missing; install it with: {INSTALL}"
    );
    let explained = Explained::read(&root().join(explained::PATH))?;
    let place = root().join("target/mutants");
    fs::create_dir_all(&place).with_context(|| format!("{}: cannot be made", place.display()))?;
    let lock = Flock::lock(
        File::create(place.join("lock"))?,
        FlockArg::LockExclusiveNonblock,
    );
    ensure!(
        lock.is_ok(),
        "{}: another cargo xtask mutants is at work there",
        place.display()
    );
    let workshop = Workshop {
        tree: place.join("tree"),
        target: place.join("target"),
        records: place,
    };
    tree::refresh(root(), &workshop.tree)?;

    let all = workshop.mutants()?;
    explained.check(&all)?;
    let chosen = mutant::sample(&of_files(all, &args.file)?, args.seed, args.count);
    let outcomes = try_all(&workshop, &chosen)?;
    let ran: Vec<Ran> = chosen
        .into_iter()
        .zip(outcomes)
        .map(|(mutant, outcome)| Ran {
            reason: explained
                .reason(&mutant)
                .filter(|_| outcome == Outcome::Missed)
                .map(ToOwned::to_owned),
            mutant,
            outcome,
        })
        .collect();
    let (total, packages) = tallies(&ran);
    if let Some(file) = file {
        file.complete_json(&Report {
            seed: args.seed,
            total,
            packages: &packages,
            mutants: &ran,
        })?;
    }
    print(&mut io::stdout().lock(), &total, &packages, &ran)?;
    verdict(&total).map_err(anyhow::Error::from)
}

/// Returns the mutants in these files and below these directories, or all if `files` is empty.
fn of_files(mutants: Vec<Mutant>, files: &[PathBuf]) -> anyhow::Result<Vec<Mutant>> {
    let is_in = |mutant: &Mutant, file: &PathBuf| Path::new(&mutant.file).starts_with(file);
    for file in files {
        if !mutants.iter().any(|mutant| is_in(mutant, file)) {
            bail!(
                "{}: has no mutants, expected a path such as hv-core/src/trace",
                file.display()
            );
        }
    }
    let mut mutants = mutants;
    mutants.retain(|mutant| files.is_empty() || files.iter().any(|file| is_in(mutant, file)));
    Ok(mutants)
}

/// Runs the suites, each on the mutants that the suites before it have missed.
fn try_all(workshop: &Workshop, mutants: &[Mutant]) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes: HashMap<String, Outcome> = HashMap::new();
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} to go")?;
    for suite in &SUITES {
        let open: Vec<Mutant> = mutants
            .iter()
            .filter(|mutant| suite.concerns(&mutant.file))
            .filter(|mutant| {
                let outcome = outcomes.get(&mutant.name);
                outcome.is_none_or(|outcome| *outcome == Outcome::Missed)
            })
            .cloned()
            .collect();
        if open.is_empty() {
            continue;
        }
        let progress = ProgressBar::new(open.len() as u64).with_style(style.clone());
        progress.set_message(suite.name);
        progress.tick();
        let found = workshop.run(suite, &open, || progress.inc(1))?;
        progress.finish_and_clear();
        outcomes.extend(open.into_iter().map(|mutant| mutant.name).zip(found));
    }
    let outcome = |mutant: &Mutant| {
        let outcome = outcomes.get(&mutant.name).copied();
        outcome.with_context(|| format!("{}: no tests run on it", mutant.name))
    };
    mutants.iter().map(outcome).collect()
}

fn tallies(ran: &[Ran]) -> (Tally, BTreeMap<String, Tally>) {
    let mut total = Tally::default();
    let mut packages = BTreeMap::new();
    for Ran {
        mutant,
        outcome,
        reason,
    } in ran
    {
        let package: &mut Tally = packages.entry(mutant.package.clone()).or_default();
        for tally in [&mut total, package] {
            tally.add(*outcome, reason.is_some());
        }
    }
    (total, packages)
}

fn print(
    output: &mut impl Write,
    total: &Tally,
    packages: &BTreeMap<String, Tally>,
    ran: &[Ran],
) -> io::Result<()> {
    let mut table = Table::new(
        "mutants of|>unviable|>viable|>caught|>timed out|>missed|>explained|>caught in all",
    );
    let rows = packages
        .iter()
        .map(|(name, tally)| (name.as_str(), tally))
        .chain([("all", total)]);
    for (name, tally) in rows {
        table.row([
            name.to_owned(),
            tally.unviable.to_string(),
            tally.viable().to_string(),
            tally.caught.to_string(),
            tally.timed_out.to_string(),
            tally.missed.to_string(),
            tally.explained.to_string(),
            tally.caught_per_mille().map(percent).unwrap_or_default(),
        ]);
    }
    write!(output, "{table}")?;
    for Ran {
        mutant,
        outcome,
        reason,
    } in ran
    {
        if *outcome == Outcome::Missed && reason.is_none() {
            writeln!(output, "missed: {}", mutant.name)?;
        }
    }
    Ok(())
}

fn percent(per_mille: usize) -> String {
    format!("{}.{}%", per_mille / 10, per_mille % 10)
}

/// Checks that the tests catch enough.
fn verdict(total: &Tally) -> Result<(), Mismatch> {
    let unexplained = total.missed - total.explained;
    if unexplained > 0 {
        return Err(Mismatch(format!(
            "{unexplained} missed and not explained in {}",
            explained::PATH
        )));
    }
    match total.caught_per_mille() {
        Some(caught) if caught < TO_CATCH => Err(Mismatch(format!(
            "{} of the viable mutants are caught, expected at least {}",
            percent(caught),
            percent(TO_CATCH)
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::tests::mutant;

    fn ran(name: &str, outcome: Outcome, reason: Option<&str>) -> Ran {
        Ran {
            mutant: mutant(name),
            outcome,
            reason: reason.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn files_and_directories_are_chosen() {
        let all = [
            "a/src/b/c.rs:1:1: x",
            "a/src/bd.rs:1:1: x",
            "e/src/f.rs:1:1: x",
        ]
        .map(mutant);
        let chosen = |files: &[&str]| {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            of_files(all.to_vec(), &files)
        };
        assert_eq!(chosen(&[]).unwrap(), all);
        assert_eq!(chosen(&["a/src/b"]).unwrap(), all[..1]);
        assert_eq!(chosen(&["e", "a/src/bd.rs"]).unwrap(), all[1..]);
        assert_eq!(
            chosen(&["e", "g"]).unwrap_err().to_string(),
            "g: has no mutants, expected a path such as hv-core/src/trace"
        );
    }

    #[test]
    fn results_align_and_name_what_was_missed() {
        let ran = [
            ran("a/b.rs:1:1: x", Outcome::Caught, None),
            ran("a/b.rs:2:1: y", Outcome::Missed, None),
            ran("c/d.rs:3:1: z", Outcome::Missed, Some("it is the same")),
            ran("c/d.rs:4:1: z", Outcome::Unviable, None),
        ];
        let (total, packages) = tallies(&ran);
        let mut text = Vec::new();
        print(&mut text, &total, &packages, &ran).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "mutants of  unviable  viable  caught  timed out  missed  explained  caught in all\n\
             a                  0       2       1          0       1          0          50.0%\n\
             c                  1       1       0          0       1          1           0.0%\n\
             all                1       3       1          0       2          1          33.3%\n\
             missed: a/b.rs:2:1: y\n"
        );
    }

    #[test]
    fn too_many_or_unexplained_survivors_fail() {
        let tally = |caught, missed, explained| Tally {
            caught,
            missed,
            explained,
            ..Tally::default()
        };
        assert_eq!(verdict(&Tally::default()), Ok(()));
        assert_eq!(verdict(&tally(97, 3, 3)), Ok(()));
        assert_eq!(
            verdict(&tally(969, 31, 31)).unwrap_err().to_string(),
            "96.9% of the viable mutants are caught, expected at least 97.0%"
        );
        assert_eq!(
            verdict(&tally(999, 2, 1)).unwrap_err().to_string(),
            "1 missed and not explained in tests/mutants.toml"
        );
    }
}
