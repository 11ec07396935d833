//! Reads the list of mutants that no test can notice, with the reasons.

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::mutant::Mutant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explained {
    #[serde(default)]
    mutant: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    original: String,
    change: String,
    #[serde(rename = "reason")]
    _reason: String,
}

/// Splits mutants into two lists: those that `text` explains, and all others. Each entry of `text` must be about an existing mutant.
pub(crate) fn split(text: &str, all: Vec<Mutant>) -> anyhow::Result<(Vec<Mutant>, Vec<Mutant>)> {
    let Explained { mutant: entries } = toml::from_str(text).context("explained.toml")?;
    let is = |entry: &Entry, mutant: &Mutant| {
        entry.file == mutant.file
            && entry.original == mutant.original
            && entry.change == mutant.change
    };
    for entry in &entries {
        if !all.iter().any(|mutant| is(entry, mutant)) {
            bail!(
                "explained.toml: {}: {} -> {}: there is no such mutant",
                entry.file,
                entry.original,
                entry.change
            );
        }
    }
    Ok(all.into_iter().partition(|mutant| entries.iter().any(|entry| is(entry, mutant))))
}

#[cfg(test)]
#[path = "tests/explained.rs"]
mod tests;
