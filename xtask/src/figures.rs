//! The figures in README files, which `cargo xtask test` compares with its counts.
//!
//! - A table row that begins with the words of `ROWS` has counts in its cells.
//! - A sentence of `SENTENCES` has counts in place of `{}`.
//!
//! Times are not compared, because each was measured on the machine that the text names.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;

use crate::budgets::{Budgets, SPARC_BUDGETS, X86_BUDGETS};
use crate::cargo::root;

/// The counts that figures are compared with. A key is the name of an instruction set, which may be empty, and the name of the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted(BTreeMap<(&'static str, String), u64>);

impl Counted {
    /// Adds counts. `on` is the name of an instruction set, or empty.
    pub(crate) fn add(
        &mut self,
        on: &'static str,
        counts: impl IntoIterator<Item = (String, u64)>,
    ) {
        let counts = counts.into_iter().map(|(name, count)| ((on, name), count));
        self.0.extend(counts);
    }

    fn get(&self, on: &'static str, name: &str) -> Option<u64> {
        self.0.get(&(on, name.to_owned())).copied()
    }
}

/// The path of the README file whose figures are compared.
const FILE: &str = "perfctr-service/README.md";

/// The rows of the README's table of calls: the first cell of the row, and the name of its count.
const ROWS: [(&str, &str); 22] = [
    ("get of a DRAM register", "get_dram"),
    ("set of a DRAM register", "set_dram"),
    ("get of the strand's PCR", "get_pcr"),
    ("set of the strand's PCR", "set_pcr"),
    ("get of a hub register", "get_zambezi"),
    ("set of a hub register", "set_zambezi"),
    ("get of L2 control", "get_l2"),
    ("set of L2 control", "set_l2"),
    ("get that is refused with EBADTRAP", "get_bad_trap"),
    ("set that is refused with EBADTRAP", "set_bad_trap"),
    ("get that is refused with EINVAL", "get_invalid"),
    ("set that is refused with EINVAL", "set_invalid"),
    ("get that is refused with ENOTSUPPORTED", "get_not_supported"),
    ("set that is refused with ENOTSUPPORTED", "set_not_supported"),
    ("get that is refused with ENOACCESS", "get_no_access"),
    ("set that is refused with ENOACCESS", "set_no_access"),
    ("get of a taken hub", "would_block"),
    ("set of a taken hub", "would_block_set"),
    ("a function that nobody has", "unknown_fast"),
    ("api_get_version", "get_version"),
    ("api_set_version of the same version", "set_version"),
    ("api_set_version of another version", "set_version_negotiated"),
];

/// The name of an instruction set, and the name of a count.
type Name = (&'static str, &'static str);

/// The README's sentences with counts. Each entry is a sentence with `{}` in place of its counts, and the names of these counts. White
/// space between words may differ.
const SENTENCES: [(&str, &[Name]); 4] = [
    ("`counter_fw_read`, takes {}.", &[("x86-64", "rustsbi_fw_read")]),
    (
        "A sample in a guest's overflow handler takes {} instructions on x86-64, two at once {}.",
        &[("x86-64", "sample"), ("x86-64", "sample_both")],
    ),
    (
        "A get of a DRAM register that is traced takes {} instructions on x86-64, of which {} write the event.",
        &[("x86-64", "get_dram_traced"), ("x86-64", "record_event")],
    ),
    ("`VFALLS_SET_PERFREG` (0x107) and their {} registers", &[("", "registers")]),
];

/// Compares all figures with the counts. Returns a line for each difference.
pub(crate) fn differences(counted: &Counted) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(root().join(FILE)).context(FILE)?;
    let mut wrong = rows(&text, counted);
    for (sentence, counts) in SENTENCES {
        wrong.extend(sentence_of(&text, sentence, counts, counted));
    }
    Ok(wrong)
}

/// Returns the differences in the table of calls.
fn rows(text: &str, counted: &Counted) -> Vec<String> {
    let mut wrong = Vec::new();
    for (call, name) in ROWS {
        let mut lines = (1..).zip(text.lines());
        let row = lines.find_map(|(number, line)| {
            let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
            let (first, cells) = cells.split_once(" | ")?;
            (first == call).then(|| (number, cells.split(" | ").collect::<Vec<_>>()))
        });
        let Some((number, cells)) = row else {
            wrong.push(format!("{FILE}: the table has no row {call}"));
            continue;
        };
        let others = SPARC_BUDGETS.budget(name).and_then(|budget| budget.others);
        let expected = [
            (X86_BUDGETS.name, counted.get(X86_BUDGETS.name, name)),
            (SPARC_BUDGETS.name, counted.get(SPARC_BUDGETS.name, name)),
            (SPARC_BUDGETS.others, others),
        ];
        for (column, (of, count)) in expected.into_iter().enumerate() {
            let expected = count.map_or("-".to_owned(), |count| count.to_string());
            let there = cells.get(column).copied().unwrap_or_default();
            if there != expected {
                wrong.push(format!(
                    "{FILE}:{number}: {call}, {of}: {there} there, {expected} counted"
                ));
            }
        }
    }
    wrong
}

/// Compares the figures in a sentence with `counts`. Returns the differences.
fn sentence_of(text: &str, sentence: &str, counts: &[Name], counted: &Counted) -> Vec<String> {
    let Some((number, found)) = numbers(text, sentence) else {
        return vec![format!("{FILE}: there is no sentence: {sentence}")];
    };
    let pairs = counts.iter().zip(found);
    let wrong = pairs.filter_map(|((on, name), there)| {
        let count = counted.get(on, name);
        (count != Some(there)).then(|| {
            let count = count.map_or("nothing".to_owned(), |count| count.to_string());
            format!("{FILE}:{number}: {name}: {there} there, {count} counted")
        })
    });
    wrong.collect()
}

/// Finds a sentence in `text`. Returns the line number of the sentence's first word, and the number in place of each `{}`.
fn numbers(text: &str, sentence: &str) -> Option<(usize, Vec<u64>)> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let lines = (1..).zip(text.lines());
    let all: Vec<(usize, &str)> = lines
        .flat_map(|(number, line)| line.split_whitespace().map(move |word| (number, word)))
        .collect();
    all.windows(words.len()).find_map(|found| {
        let mut numbers = Vec::new();
        for ((_, there), word) in found.iter().zip(&words) {
            match word.split_once("{}") {
                Some((before, after)) => {
                    let number = there.strip_prefix(before)?.strip_suffix(after)?;
                    numbers.push(number.parse().ok()?);
                }
                None if there == word => {}
                None => return None,
            }
        }
        Some((found[0].0, numbers))
    })
}

/// Returns the names of the budgets that have no count.
pub(crate) fn not_counted(budgets: &Budgets, counted: &Counted) -> Vec<&'static str> {
    let names = budgets.all.iter().map(|budget| budget.name);
    names.filter(|name| counted.get(budgets.name, name).is_none()).collect()
}

#[cfg(test)]
#[path = "tests/figures.rs"]
mod tests;
