//! Parses the results that a guest writes to its console, one on each line.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::budgets::SPARC_BUDGETS;

/// The results of a run, in the form that `--json` writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    /// The number of calls that were compared with the contract.
    pub cases: u64,
    /// The number of instructions that each kind of call takes, including the trap, `done`, and all instructions in between. These are
    /// counts from QEMU, where calls access a word in memory instead of %pcr.
    pub instructions: BTreeMap<String, u64>,
    pub console: String,
}

impl Report {
    pub fn add(&mut self, console: &str) {
        for line in console.lines() {
            if let Some((name, result)) = pair(line, "check ") {
                match result {
                    "passed" => self.passed.push(name.into()),
                    _ => self.failed.push(name.into()),
                }
            } else if let Some((name, number)) = pair(line, "count ") {
                if let Ok(number) = number.parse() {
                    self.instructions.insert(name.into(), number);
                }
            } else if let Some(number) = line.strip_prefix("cases: ") {
                self.cases += number.parse::<u64>().unwrap_or(0);
            }
        }
        self.console.push_str(console);
    }

    /// Formats the result of one of this program's own checks in the form that guests use. `wrong` is the reason if the check failed.
    pub fn line(name: &str, wrong: Option<&str>) -> String {
        match wrong {
            None => format!("check {name}: passed\n"),
            Some(wrong) => format!("check {name}: FAILED, {wrong}\n"),
        }
    }

    /// Returns a table of the counts, followed by one line for each kind of call that has a budget. The line says whether the count is
    /// within the budget.
    pub fn budgets(&self) -> String {
        let counted = SPARC_BUDGETS.all.iter().filter_map(|budget| {
            let count = self.instructions.get(budget.name)?;
            Some((budget.name, SPARC_BUDGETS.violation(budget.name, *count)))
        });
        let checks = counted
            .map(|(name, wrong)| Self::line(&format!("budget of {name}"), wrong.as_deref()))
            .collect::<String>();
        format!("{}{checks}", SPARC_BUDGETS.table(&self.instructions))
    }
}

fn pair<'a>(line: &'a str, prefix: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(prefix)?.split_once(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_console() {
        let mut report = Report::default();
        report.add(
            "hello\ncheck a: passed\ncheck b c: FAILED, 1 is 2\ncount get_pcr: 28\ncases: 12\n",
        );
        report.add("cases: 30\nchecked\n");
        assert_eq!(report.passed, ["a"]);
        assert_eq!(report.failed, ["b c"]);
        assert_eq!(report.cases, 42);
        assert_eq!(report.instructions, BTreeMap::from([("get_pcr".into(), 28)]));
        assert!(report.console.ends_with("cases: 30\nchecked\n"));
    }
}
