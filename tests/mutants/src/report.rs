//! What was found, as tables and as JSON.

use std::fmt;
use std::io::Write;

use serde::{Serialize, Serializer};
use vfalls::table::{self, cut};

use crate::mutant::{Mutant, Rule};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    NoProgram,
    Same,
    /// A test failed.
    Caught(String),
    /// The tests of a step did not end.
    Late(String),
    Missed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => write!(f, "not a program"),
            Self::Same => write!(f, "same"),
            Self::Caught(by) => write!(f, "caught by {by}"),
            Self::Late(step) => write!(f, "late in {step}"),
            Self::Missed => write!(f, "MISSED"),
        }
    }
}

pub(crate) struct Tested {
    pub(crate) mutant: Mutant,
    pub(crate) verdict: Verdict,
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

/// Returns a mutant on one line.
pub(crate) fn line(mutant: &Mutant) -> String {
    let Mutant { file, line, original, change, edit } = mutant;
    format!("{file}:{line}: {}: {} -> {}", edit.rule.about(), cut(original, 160), cut(change, 160))
}

/// Returns how many mutants there are of each rule and of each crate, and those that were missed.
pub(crate) fn tables(all: &[Tested]) -> String {
    let by_rule = Rule::ALL.map(|rule| {
        let of = all.iter().filter(|tested| tested.mutant.edit.rule == rule);
        (rule.about().to_owned(), of.collect::<Vec<_>>())
    });
    let mut folders: Vec<&str> = all.iter().map(|tested| tested.mutant.folder()).collect();
    folders.sort_unstable();
    folders.dedup();
    let by_crate = folders.into_iter().map(|folder| {
        let of = all.iter().filter(|tested| tested.mutant.folder() == folder);
        (folder.to_owned(), of.collect::<Vec<_>>())
    });
    let mut text = String::new();
    for (name, rows) in [("rule", Vec::from(by_rule)), ("crate", by_crate.collect())] {
        let columns = format!("{name}|>made|>not a program|>same|>caught|>late|>missed");
        let mut counts = table::with_header(&columns);
        for (name, of) in rows.into_iter().chain([("all".to_owned(), all.iter().collect())]) {
            let count =
                |is: fn(&Verdict) -> bool| of.iter().filter(|tested| is(&tested.verdict)).count();
            counts.add_row([
                name,
                of.len().to_string(),
                count(|verdict| *verdict == Verdict::NoProgram).to_string(),
                count(|verdict| *verdict == Verdict::Same).to_string(),
                count(|verdict| matches!(verdict, Verdict::Caught(_))).to_string(),
                count(|verdict| matches!(verdict, Verdict::Late(_))).to_string(),
                count(|verdict| *verdict == Verdict::Missed).to_string(),
            ]);
        }
        text += &format!("{}\n", table::text(&counts));
    }
    for Tested { mutant, .. } in all.iter().filter(|tested| tested.verdict == Verdict::Missed) {
        let Mutant { file, line, original, change, .. } = mutant;
        text += &format!("missed: {file}:{line}\n  original: {original}\n  change:   {change}\n");
    }
    text
}

/// Prints to standard output. A reader that has gone does not matter.
pub(crate) fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}

#[cfg(test)]
#[path = "tests/report.rs"]
mod tests;
