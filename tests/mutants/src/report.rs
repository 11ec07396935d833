//! Shows the test results as tables and as JSON.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::time::Instant;

use serde::{Serialize, Serializer};
use vfalls::say::say;
use vfalls::table::{self, cut};

use crate::mutant::{Mutant, Rule};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    NoProgram,
    Same,
    /// A test failed. The text names the step and the test.
    Caught(String),
    /// A step's tests took too long. The text is the step's name.
    Late(String),
    Missed,
    /// No test executes the mutant.
    Unreached,
}

impl Verdict {
    pub(crate) fn is_missed(&self) -> bool {
        matches!(self, Self::Missed | Self::Unreached)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => write!(f, "not a program"),
            Self::Same => write!(f, "same"),
            Self::Caught(by) => write!(f, "caught by {by}"),
            Self::Late(step) => write!(f, "late in {step}"),
            Self::Missed => write!(f, "MISSED"),
            Self::Unreached => write!(f, "MISSED, for no test executes it"),
        }
    }
}

pub(crate) struct Tested {
    pub(crate) mutant: Mutant,
    pub(crate) verdict: Verdict,
}

impl Tested {
    /// Prints the verdict on mutant `at` of `number`, whose tests began at `begin`.
    pub(crate) fn print_progress(self, at: usize, number: usize, begin: Instant) -> Self {
        let Self { mutant, verdict } = &self;
        let (line, time) = (line(mutant), begin.elapsed().as_secs());
        say(format_args!("[{at}/{number}] {verdict}: {line} ({time} s)"));
        self
    }
}

impl Serialize for Tested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            file: &'a str,
            line: usize,
            rule: Rule,
            original: &'a str,
            change: &'a str,
            verdict: String,
        }
        let Mutant { file, line, original, change, edit } = &self.mutant;
        let verdict = self.verdict.to_string();
        Line { file, line: *line, rule: edit.rule, original, change, verdict }.serialize(serializer)
    }
}

/// Describes a mutant in one line.
pub(crate) fn line(mutant: &Mutant) -> String {
    let Mutant { file, line, original, change, edit } = mutant;
    format!("{file}:{line}: {}: {} -> {}", edit.rule, cut(original, 160), cut(change, 160))
}

/// Returns tables of the number of mutants by rule and by crate, and the mutants that were missed.
pub(crate) fn tables(rules: &[Rule], all: &[Tested]) -> String {
    let folders = all.iter().map(|tested| tested.mutant.folder());
    let folders = BTreeSet::from_iter(folders).into_iter().collect();
    let mut text = String::new();
    for (kind, names) in [("rule", rules.to_vec()), ("crate", folders)] {
        let columns = format!("{kind}|>made|>not a program|>same|>caught|>late|>missed");
        let mut counts = table::with_header(&columns);
        for name in names.into_iter().chain(["all"]) {
            let of = |mutant: &Mutant| [mutant.edit.rule, mutant.folder(), "all"].contains(&name);
            let of = all.iter().filter(|tested| of(&tested.mutant)).map(|tested| &tested.verdict);
            let count = |is: fn(&Verdict) -> bool| of.clone().filter(|verdict| is(verdict)).count();
            let cells = [
                count(|_| true),
                count(|verdict| *verdict == Verdict::NoProgram),
                count(|verdict| *verdict == Verdict::Same),
                count(|verdict| matches!(verdict, Verdict::Caught(_))),
                count(|verdict| matches!(verdict, Verdict::Late(_))),
                count(Verdict::is_missed),
            ];
            counts.add_row([name.to_owned()].into_iter().chain(cells.map(|cell| cell.to_string())));
        }
        text += &format!("{}\n", table::text(&counts));
    }
    for Tested { mutant, .. } in all.iter().filter(|tested| tested.verdict.is_missed()) {
        let Mutant { file, line, original, change, .. } = mutant;
        text += &format!("missed: {file}:{line}\n  original: {original}\n  change:   {change}\n");
    }
    text
}

/// Prints to standard output. Ignores the error if the reader has closed it.
pub(crate) fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}

#[cfg(test)]
#[path = "tests/report.rs"]
mod tests;
