//! The figures in README files, which `cargo xtask test` compares with what is counted.
//!
//! - A row of a table that begins with the words of `ROWS` has counts in its cells.
//! - A sentence of `SENTENCES` has counts in place of `{}`.
//! - A block of text below a line `<!-- cargo xtask ... -->` is what this command prints. A line `...` stands for any lines.
//!
//! Times are not compared: each says of which machine it is.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::budgets::{Budgets, OF_SPARC, OF_X86};
use crate::cargo::root;

/// What was counted, by the name of the instruction set, if there is one, and the name of the count.
#[derive(Clone, Debug, Default)]
pub struct Counted(BTreeMap<(&'static str, String), u64>);

impl Counted {
    /// Adds counts. `on` is the name of an instruction set, or empty.
    pub fn add(&mut self, on: &'static str, counts: impl IntoIterator<Item = (String, u64)>) {
        let counts = counts.into_iter().map(|(name, count)| ((on, name), count));
        self.0.extend(counts);
    }

    fn get(&self, on: &'static str, name: &str) -> Option<u64> {
        self.0.get(&(on, name.to_owned())).copied()
    }
}

/// The README files that have figures.
const FILES: [&str; 4] = [
    "README.md",
    "hv-core/README.md",
    "perfctr-service/README.md",
    "simulator/README.md",
];

/// The first cells of the rows of README's table of calls, and the names of their counts.
const ROWS: [(&str, &str); 12] = [
    ("get of a DRAM register", "get_dram"),
    ("set of a DRAM register", "set_dram"),
    ("get of the strand's PCR", "get_pcr"),
    ("set of the strand's PCR", "set_pcr"),
    ("get of a hub register", "get_zambezi"),
    ("set of a hub register", "set_zambezi"),
    ("get that is refused", "refused"),
    ("set that is refused", "refused_set"),
    ("a function that nobody has", "unknown_fast"),
    ("api_get_version", "get_version"),
    ("api_set_version of the same version", "set_version"),
    (
        "api_set_version of another version",
        "set_version_negotiated",
    ),
];

/// The name of an instruction set and of a count.
type Name = (&'static str, &'static str);

/// Sentences with the files that have them, and the names of the counts in them. White space is any white space.
const SENTENCES: [(&str, &str, &[Name]); 4] = [
    (
        "README.md",
        "`counter_fw_read`, takes {}.",
        &[("x86-64", "rustsbi_fw_read")],
    ),
    (
        "README.md",
        "A sample in a guest's overflow handler takes {} instructions on x86-64, two at once {}.",
        &[("x86-64", "sample"), ("x86-64", "sample_both")],
    ),
    (
        "README.md",
        "A get of a DRAM register that is traced takes {} instructions on x86-64, of which {} write the event.",
        &[("x86-64", "get_dram_traced"), ("x86-64", "record_event")],
    ),
    (
        "README.md",
        "`VFALLS_SET_PERFREG` (0x107), {} registers,",
        &[("", "registers")],
    ),
];

/// Compares all figures. Returns what differs, a line each.
///
/// # Errors
/// A file cannot be read, or a command cannot be run.
pub fn differ(counted: &Counted) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for name in FILES {
        let text = fs::read_to_string(root().join(name)).with_context(|| name.to_owned())?;
        if name == "README.md" {
            wrong.extend(rows(name, &text, counted));
        }
        for (_, sentence, counts) in SENTENCES.iter().filter(|(file, ..)| *file == name) {
            wrong.extend(sentence_of(name, &text, sentence, counts, counted));
        }
        for block in blocks(&text) {
            let printed = printed(block.command)?;
            if let Some(line) = missing(&block, &printed) {
                wrong.push(format!(
                    "{name}:{line}: {} does not print this",
                    block.command
                ));
            }
        }
    }
    Ok(wrong)
}

/// Returns what differs in the table of calls.
fn rows(file: &str, text: &str, counted: &Counted) -> Vec<String> {
    let mut wrong = Vec::new();
    for (call, name) in ROWS {
        let mut lines = (1..).zip(text.lines());
        let row = lines.find_map(|(number, line)| {
            let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
            let (first, cells) = cells.split_once(" | ")?;
            (first == call).then(|| (number, cells.split(" | ").collect::<Vec<_>>()))
        });
        let Some((number, cells)) = row else {
            wrong.push(format!("{file}: the table has no row {call}"));
            continue;
        };
        let others = OF_SPARC.of(name).and_then(|budget| budget.others);
        let expected = [
            (OF_X86.name, counted.get(OF_X86.name, name)),
            (OF_SPARC.name, counted.get(OF_SPARC.name, name)),
            (OF_SPARC.others, others),
        ];
        for (column, (of, count)) in expected.into_iter().enumerate() {
            let expected = count.map_or("-".to_owned(), |count| count.to_string());
            let there = cells.get(column).copied().unwrap_or_default();
            if there != expected {
                wrong.push(format!(
                    "{file}:{number}: {call}, {of}: {there} there, {expected} counted"
                ));
            }
        }
    }
    wrong
}

/// Returns what differs in a sentence.
fn sentence_of(
    file: &str,
    text: &str,
    sentence: &str,
    counts: &[Name],
    counted: &Counted,
) -> Vec<String> {
    let Some((number, found)) = numbers(text, sentence) else {
        return vec![format!("{file}: there is no sentence: {sentence}")];
    };
    let pairs = counts.iter().zip(found);
    let wrong = pairs.filter_map(|((on, name), there)| {
        let count = counted.get(on, name);
        (count != Some(there)).then(|| {
            let count = count.map_or("nothing".to_owned(), |count| count.to_string());
            format!("{file}:{number}: {name}: {there} there, {count} counted")
        })
    });
    wrong.collect()
}

/// Finds a sentence in a text. Returns the line in which it begins, and the numbers in place of its `{}`.
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

/// A block of text that a command prints.
#[derive(Debug, PartialEq, Eq)]
struct Block<'a> {
    command: &'a str,
    /// The number of the first line.
    first: usize,
    lines: Vec<&'a str>,
}

/// Returns the blocks of a file.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((_, line)) = lines.next() {
        let Some(command) = line
            .strip_prefix("<!-- ")
            .and_then(|line| line.strip_suffix(" -->"))
        else {
            continue;
        };
        let Some((fence, _)) = lines.find(|(_, line)| line.starts_with("```")) else {
            break;
        };
        let inside = lines.by_ref().map(|(_, line)| line);
        blocks.push(Block {
            command,
            first: fence + 1,
            lines: inside.take_while(|line| !line.starts_with("```")).collect(),
        });
    }
    blocks
}

/// Returns the number of the first line of a block that is not printed, in order. Lines that follow each other there do so in what
/// is printed.
fn missing(block: &Block<'_>, printed: &str) -> Option<usize> {
    let mut printed = printed.lines().map(str::trim_end);
    let mut anywhere = true;
    for (number, line) in (block.first..).zip(&block.lines) {
        if *line == "..." {
            anywhere = true;
            continue;
        }
        let found = match anywhere {
            true => printed.any(|found| found == *line),
            false => printed.next() == Some(*line),
        };
        if !found {
            return Some(number);
        }
        anywhere = false;
    }
    None
}

/// Runs commands of this program, with `; ` between them, in a directory of its own. Returns what they print.
fn printed(commands: &str) -> anyhow::Result<String> {
    let directory = root().join("target/readme");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory)?;
    std::os::unix::fs::symlink(root().join("simulator"), directory.join("simulator"))?;
    let mut printed = String::new();
    for command in commands.split("; ") {
        let Some(arguments) = command.strip_prefix("cargo xtask ") else {
            bail!("{command}: expected a command of cargo xtask");
        };
        let output = Command::new(std::env::current_exe()?)
            .args(arguments.split(' '))
            .current_dir(&directory)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{command}: {}", output.status);
        printed.push_str(&String::from_utf8(output.stdout)?);
    }
    Ok(printed)
}

/// Returns the names of all counts that have a budget and were not counted.
#[must_use]
pub fn not_counted(budgets: &Budgets, counted: &Counted) -> Vec<&'static str> {
    let names = budgets.all().map(|budget| budget.name);
    names
        .filter(|name| counted.get(budgets.name, name).is_none())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_in_its_file() {
        for (file, sentence, counts) in SENTENCES {
            let text = fs::read_to_string(root().join(file)).unwrap();
            let (_, found) = numbers(&text, sentence).expect(sentence);
            assert_eq!(found.len(), counts.len(), "{sentence}");
        }
    }

    #[test]
    fn a_sentence_is_found_by_its_words() {
        let text = "# Title\n\nA call takes 12\ninstructions (34, at most). A call takes 5\n";
        let found = numbers(text, "A call takes {} instructions ({}, at most).");
        assert_eq!(found, Some((3, vec![12, 34])));
        assert_eq!(numbers(text, "A call takes {} seconds"), None);
        assert_eq!(numbers(text, "takes {} instructions ({}, at least)"), None);
    }

    #[test]
    fn a_figure_that_differs_is_named() {
        let mut counted = Counted::default();
        counted.add("x86-64", [("one".to_owned(), 12), ("two".to_owned(), 35)]);
        let text = "First 12, then\n34.";
        let names: &[Name] = &[("x86-64", "one"), ("x86-64", "two")];
        assert_eq!(
            sentence_of("F", text, "First {}, then {}.", names, &counted),
            ["F:1: two: 34 there, 35 counted"]
        );
        assert_eq!(
            sentence_of("F", text, "Last {}.", names, &counted),
            ["F: there is no sentence: Last {}."]
        );
    }

    #[test]
    fn cells_are_compared() {
        let mut counted = Counted::default();
        counted.add("x86-64", [("get_dram".to_owned(), 26)]);
        counted.add("SPARC V9", [("get_dram".to_owned(), 24)]);
        let text = "| call | x |\n|---|---|\n| get of a DRAM register | 26 | 36 | 61 |\n";
        let wrong = rows("F", text, &counted);
        assert_eq!(
            wrong[0],
            "F:3: get of a DRAM register, SPARC V9: 36 there, 24 counted"
        );
        assert_eq!(wrong[1], "F: the table has no row set of a DRAM register");
        assert_eq!(wrong.len(), 12);
    }

    #[test]
    fn blocks_are_compared_with_what_is_printed() {
        let text = "a\n<!-- cargo xtask x -->\n```text\none\n...\nthree\nfour\n```\nb\n";
        let [block] = &blocks(text)[..] else {
            panic!("one block");
        };
        assert_eq!((block.command, block.first), ("cargo xtask x", 4));
        assert_eq!(missing(block, "zero\none\ntwo\nthree\nfour\n"), None);
        assert_eq!(missing(block, "one\nthree\ntwo\nfour\n"), Some(7));
        assert_eq!(missing(block, "three\nfour\none\n"), Some(6));
        assert_eq!(missing(block, "two\n"), Some(4));
    }
}
