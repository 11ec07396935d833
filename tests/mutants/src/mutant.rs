//! A change to the sources in one place.

use std::ops::Range;

pub(crate) type Rule = &'static str;

pub(crate) const SWAP: Rule = "statements change places";
pub(crate) const DROP: Rule = "a statement is left out";
pub(crate) const WEAKEN: Rule = "an ordering is weaker";
pub(crate) const ASM_NOP: Rule = "an instruction is nop";
pub(crate) const ASM_SWAP: Rule = "instructions change places";
pub(crate) const ASM_NEGATE: Rule = "a condition is negated";
pub(crate) const ASM_NUMBER: Rule = "a number is one more";
pub(crate) const ASM_REGISTER: Rule = "a source is another register";

/// The rules of cargo-mutants, under the names that cargo-mutants gives them.
pub(crate) const VALUES: [Rule; 6] =
    ["FnValue", "BinaryOperator", "UnaryOperator", "MatchArm", "MatchArmGuard", "StructField"];

pub(crate) const RULES: [Rule; 8] =
    [SWAP, DROP, WEAKEN, ASM_NOP, ASM_SWAP, ASM_NEGATE, ASM_NUMBER, ASM_REGISTER];

/// A change to a file: the text `with` replaces the text at `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) rule: Rule,
    pub(crate) range: Range<usize>,
    pub(crate) with: String,
}

impl Edit {
    pub(crate) fn apply(&self, text: &str) -> String {
        [&text[..self.range.start], &self.with, &text[self.range.end..]].concat()
    }
}

/// An edit and the file that it changes. The file's path is relative to the workspace root.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) original: String,
    pub(crate) change: String,
    pub(crate) edit: Edit,
}

impl Mutant {
    pub(crate) fn new(file: &str, text: &str, edit: Edit) -> Self {
        let original = words(&text[edit.range.clone()]);
        let line = text[..edit.range.start].matches('\n').count() + 1;
        Self { file: file.to_owned(), line, original, change: words(&edit.with), edit }
    }

    /// Returns the folder of the mutant's crate.
    pub(crate) fn folder(&self) -> &str {
        self.file.split_once("/src/").map_or(&self.file, |(folder, _)| folder)
    }
}

/// Returns the text with single spaces between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
