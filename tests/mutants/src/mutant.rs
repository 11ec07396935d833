//! A change of one place of the sources.

use std::ops::Range;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    Swap,
    Drop,
    Weaken,
    AsmNop,
    AsmSwap,
    AsmNegate,
    AsmNumber,
    AsmRegister,
}

impl Rule {
    pub(crate) const ALL: [Self; 8] = [
        Self::Swap,
        Self::Drop,
        Self::Weaken,
        Self::AsmNop,
        Self::AsmSwap,
        Self::AsmNegate,
        Self::AsmNumber,
        Self::AsmRegister,
    ];

    /// Returns what the rule does, in a few words.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Swap => "statements change places",
            Self::Drop => "a statement is left out",
            Self::Weaken => "an ordering is weaker",
            Self::AsmNop => "an instruction is nop",
            Self::AsmSwap => "instructions change places",
            Self::AsmNegate => "a condition is negated",
            Self::AsmNumber => "a number is one more",
            Self::AsmRegister => "a source is another register",
        }
    }
}

/// Text that replaces a part of a file.
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

/// An edit of a file. The paths are relative to the root of the workspace.
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
