//! Parses cargo's JSON messages about what it builds.

use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The folder of the program's crate.
    pub(crate) folder: PathBuf,
    pub(crate) target: String,
    /// Whether these are unit tests, built into a library.
    pub(crate) is_unit: bool,
    pub(crate) path: PathBuf,
}

/// A compiler error and the places that it points to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) text: String,
    pub(crate) places: Vec<(String, Range<usize>)>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

/// Returns the test programs that cargo has built, in cargo's order.
pub(crate) fn programs(messages: &str) -> Vec<Program> {
    let program = |message: Value| {
        let is_test = message["profile"]["test"].as_bool()?;
        let path = message["executable"].as_str().filter(|_| is_test)?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Program {
            folder: manifest.parent()?.to_owned(),
            target: message["target"]["name"].as_str()?.to_owned(),
            is_unit: message["target"]["kind"] == serde_json::json!(["lib"]),
            path: path.into(),
        })
    };
    values(messages).filter_map(program).collect()
}

/// Returns the compiler's errors.
pub(crate) fn errors(messages: &str) -> Vec<Error> {
    let error = |message: Value| {
        let message = &message["message"];
        if message["level"] != "error" {
            return None;
        }
        let spans = Vec::<Span>::deserialize(&message["spans"]).ok()?;
        let places = spans.into_iter().filter(|span| span.is_primary);
        Some(Error {
            text: message["rendered"].as_str().unwrap_or_default().to_owned(),
            places: places.map(|span| (span.file_name, span.byte_start..span.byte_end)).collect(),
        })
    };
    values(messages).filter_map(error).collect()
}

fn values(messages: &str) -> impl Iterator<Item = Value> {
    messages.lines().filter_map(|line| serde_json::from_str(line).ok())
}

#[cfg(test)]
#[path = "tests/built.rs"]
mod tests;
