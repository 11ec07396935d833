//! The outcomes of mutants, from the records of cargo-mutants, and their numbers.

use std::collections::HashMap;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::mutant::Mutant;

/// The outcome of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// It cannot be compiled.
    Unviable,
    /// A test failed.
    Caught,
    /// The tests took several times as long as without it, which counts as caught.
    TimedOut,
    /// All tests passed.
    Missed,
}

/// The file that cargo-mutants writes about a run.
#[derive(Deserialize)]
struct Records {
    outcomes: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Deserialize)]
enum Scenario {
    Mutant(Mutant),
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
enum Summary {
    Success,
    CaughtMutant,
    MissedMutant,
    Unviable,
    Timeout,
    Failure,
}

/// Returns the outcomes of these mutants from the records of a run, which may contain others.
pub(super) fn outcomes(text: &[u8], mutants: &[Mutant]) -> anyhow::Result<Vec<Outcome>> {
    let records: Records = serde_json::from_slice(text)?;
    let mut found = HashMap::new();
    for Record { scenario, summary } in records.outcomes {
        let Scenario::Mutant(mutant) = scenario;
        found.insert(mutant.name, summary);
    }
    let outcome = |mutant: &Mutant| {
        Ok(match found.get(&mutant.name) {
            Some(Summary::CaughtMutant) => Outcome::Caught,
            Some(Summary::MissedMutant) => Outcome::Missed,
            Some(Summary::Unviable) => Outcome::Unviable,
            Some(Summary::Timeout) => Outcome::TimedOut,
            Some(Summary::Success | Summary::Failure) | None => {
                bail!("{}: was not run", mutant.name)
            }
        })
    };
    mutants.iter().map(outcome).collect()
}

/// The number of mutants with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Cannot be compiled.
    pub(crate) unviable: usize,
    /// Failed a test.
    pub(crate) caught: usize,
    /// Took too long.
    pub(crate) timed_out: usize,
    /// Passed all tests.
    pub(crate) missed: usize,
    /// Passed all tests, and `tests/mutants.toml` explains why. Included in `missed`.
    pub(crate) explained: usize,
}

impl Tally {
    /// Counts a mutant.
    pub(crate) fn add(&mut self, outcome: Outcome, explained: bool) {
        match outcome {
            Outcome::Unviable => self.unviable += 1,
            Outcome::Caught => self.caught += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Missed => {
                self.missed += 1;
                self.explained += usize::from(explained);
            }
        }
    }

    /// Returns the number of mutants that can be compiled.
    #[must_use]
    pub(crate) fn viable(&self) -> usize {
        self.seen() + self.missed
    }

    /// Returns the share of viable mutants that were caught or timed out, in per mille, rounded down; `None` if none is
    /// viable.
    #[must_use]
    pub(crate) fn caught_per_mille(&self) -> Option<usize> {
        (self.seen() * 1000).checked_div(self.viable())
    }

    fn seen(&self) -> usize {
        self.caught + self.timed_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::tests::mutant;

    const MUTANT: &str =
        r#"{"Mutant":{"name":"NAME","file":"a/b.rs","package":"a","genre":"FnValue"}}"#;

    /// Returns the records of a run.
    fn records(mutants: &[(&str, &str)]) -> String {
        let mutants = mutants.iter().map(|(name, summary)| {
            let scenario = MUTANT.replace("NAME", name);
            format!(r#"{{"scenario":{scenario},"summary":"{summary}"}}"#)
        });
        let all: Vec<_> = mutants.collect();
        format!(r#"{{"outcomes":[{}],"end_time":null}}"#, all.join(","))
    }

    #[test]
    fn outcomes_are_found_by_name() {
        let names = [
            "a/b.rs:1:1: a",
            "a/b.rs:2:1: b",
            "a/b.rs:3:1: c",
            "a/b.rs:4:1: d",
        ];
        let summaries = ["Timeout", "Unviable", "MissedMutant", "CaughtMutant"];
        let ran: Vec<_> = names.into_iter().rev().zip(summaries).collect();
        let text = records(&ran);
        assert_eq!(
            outcomes(text.as_bytes(), &names.map(mutant)).unwrap(),
            [
                Outcome::Caught,
                Outcome::Missed,
                Outcome::Unviable,
                Outcome::TimedOut
            ]
        );
        assert_eq!(
            outcomes(text.as_bytes(), &[mutant("a/b.rs:3:1: c")]).unwrap(),
            [Outcome::Unviable]
        );
    }

    #[test]
    fn records_without_an_outcome_are_errors() {
        let one = [mutant("a/b.rs:1:1: a")];
        let failed = |text: String| outcomes(text.as_bytes(), &one).unwrap_err().to_string();
        assert_eq!(failed(records(&[])), "a/b.rs:1:1: a: was not run");
        let failure = [("a/b.rs:1:1: a", "Failure")];
        assert_eq!(failed(records(&failure)), "a/b.rs:1:1: a: was not run");
    }

    #[test]
    fn a_tally_counts() {
        let mut tally = Tally::default();
        assert_eq!(tally.caught_per_mille(), None);
        for (outcome, explained) in [
            (Outcome::Unviable, false),
            (Outcome::Caught, false),
            (Outcome::Missed, true),
            (Outcome::TimedOut, true),
        ] {
            tally.add(outcome, explained);
        }
        let expected = Tally {
            unviable: 1,
            caught: 1,
            timed_out: 1,
            missed: 1,
            explained: 1,
        };
        assert_eq!(tally, expected);
        assert_eq!((tally.viable(), tally.caught_per_mille()), (3, Some(666)));
        tally.add(Outcome::Missed, false);
        assert_eq!((tally.missed, tally.explained), (2, 1));
        assert_eq!((tally.viable(), tally.caught_per_mille()), (4, Some(500)));
    }
}
