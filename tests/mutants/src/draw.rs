//! The command-line options that both commands share.

use std::path::PathBuf;

use anyhow::ensure;
use vfalls::exit::Mismatch;
use vfalls::output::{Force, OutputFile};

use crate::mutant::{Mutant, Rule};
use crate::report::{self, Tested};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// The seed of the draw
    #[arg(long, default_value_t = 2026)]
    pub(crate) seed: u64,
    /// Draw only mutants of this file, or of the files below this directory (may be repeated)
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Print the drawn mutants without testing them
    #[arg(long)]
    pub(crate) list: bool,
    /// Also write the verdicts to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Test only every N-th of the drawn mutants, from number K on
    #[arg(long, value_name = "K/N", default_value = "0/1", value_parser = shard)]
    shard: (usize, usize),
}

fn shard(text: &str) -> Result<(usize, usize), &'static str> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| k < n).ok_or("expected K/N with K < N, such as 0/4")
}

impl Options {
    /// Keeps only the mutants in the requested files.
    pub(crate) fn select(&self, mutants: &mut Vec<Mutant>) -> anyhow::Result<()> {
        let is_wanted = |mutant: &Mutant| {
            self.file.iter().any(|path| PathBuf::from(&mutant.file).starts_with(path))
        };
        mutants.retain(|mutant| self.file.is_empty() || is_wanted(mutant));
        ensure!(!mutants.is_empty(), "there are no mutants of these files");
        Ok(())
    }

    /// Returns the requested shard of the drawn mutants.
    pub(crate) fn part<T>(&self, drawn: Vec<T>) -> Vec<T> {
        let (from, every) = self.shard;
        drawn.into_iter().skip(from).step_by(every).collect()
    }

    pub(crate) fn output(&self) -> anyhow::Result<Option<OutputFile>> {
        self.force.create_if_wanted(self.json.as_ref())
    }
}

/// Prints the verdicts, and writes them to a file if requested. Fails if the tests missed a mutant
/// that is not explained.
pub(crate) fn conclude(
    rules: &[Rule],
    tested: &[Tested],
    json: Option<OutputFile>,
    explained: &str,
) -> anyhow::Result<()> {
    report::print(&report::tables(rules, tested));
    if let Some(file) = json {
        file.complete_json(&tested)?;
    }
    let missed = tested.iter().filter(|tested| tested.verdict.is_missed()).count();
    ensure!(missed == 0, Mismatch(format!("{missed} missed and not explained in {explained}")));
    Ok(())
}
