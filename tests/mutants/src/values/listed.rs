//! Lists the mutants that cargo-mutants makes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use anyhow::Context;
use serde::Deserialize;
use xtask::cargo::{output, root};
use xtask::cmd::mutants::command;

use super::packages::Package;
use crate::mutant::{Edit, Mutant, VALUES};

/// What `cargo mutants --list --json` says about a mutant.
#[derive(Deserialize)]
struct Listed {
    name: String,
    file: String,
    span: Span,
    replacement: String,
    genre: String,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// A place in a file. Lines and columns count from 1. A column is a character, not a byte.
#[derive(Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

/// Returns all of a package's mutants.
pub(crate) fn mutants(package: &Package) -> anyhow::Result<Vec<Mutant>> {
    let mut list = command()?;
    list.args(["--no-config", "--list", "--json", "--colors=never", "--exclude=**/tests/**"]);
    list.args(package.folders.iter().map(|folder| format!("--file={folder}/src/**")));
    parsed(&output(&mut list, "cargo mutants --list")?, |file| {
        fs::read_to_string(root().join(file)).with_context(|| file.to_owned())
    })
}

fn parsed(
    json: &[u8],
    read: impl Fn(&str) -> anyhow::Result<String>,
) -> anyhow::Result<Vec<Mutant>> {
    let listed: Vec<Listed> = serde_json::from_slice(json).context("cargo mutants --list")?;
    let mut texts = BTreeMap::new();
    for Listed { file, .. } in &listed {
        if !texts.contains_key(file) {
            texts.insert(file.clone(), read(file)?);
        }
    }
    listed.into_iter().map(|listed| listed.mutant(&texts)).collect()
}

impl Listed {
    fn mutant(self, texts: &BTreeMap<String, String>) -> anyhow::Result<Mutant> {
        let Self { name, file, span, replacement: with, genre } = self;
        let rule = VALUES.into_iter().find(|rule| *rule == genre);
        let rule = rule.with_context(|| format!("{name}: the genre {genre} is unknown"))?;
        let text = &texts[&file];
        let range = bytes(text, &span).with_context(|| format!("{name}: not in the file"))?;
        let original = text.lines().nth(span.start.line - 1).unwrap_or_default().trim();
        // A name is `FILE:LINE:COLUMN: CHANGE`.
        let change = name.splitn(4, ':').last().unwrap_or(&name).trim();
        Ok(Mutant {
            line: span.start.line,
            original: original.to_owned(),
            change: change.to_owned(),
            edit: Edit { rule, range, with },
            file,
        })
    }
}

fn bytes(text: &str, span: &Span) -> Option<Range<usize>> {
    let at = |place: &Place| {
        let before = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum::<usize>();
        let mut places = text[before..].char_indices().map(|(at, _)| before + at);
        places.nth(place.column - 1).or((place.column == 1).then_some(before))
    };
    Some(at(&span.start)?..at(&span.end)?)
}

#[cfg(test)]
#[path = "tests/listed.rs"]
mod tests;
