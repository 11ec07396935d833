//! A machine's guests with their strands and rights, and the files that describe them.

use std::path::Path;

use guest_abi::StrandId;
use perfctr_service::{Grant, GuestConfig};
use platform::Machine;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::input::{self, InputError};
use crate::machine::{description, strands};
use crate::text::line;

/// A guest of the simulated machine, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGuest {
    /// The name that reports show.
    pub name: String,
    /// The guest's strands and rights.
    pub config: GuestConfig,
}

impl NamedGuest {
    /// Returns the guest's first strand, which makes the guest's calls.
    pub fn caller(&self) -> Option<StrandId> {
        self.config.strands.iter().next()
    }
}

impl From<description::GuestDescription> for NamedGuest {
    fn from(guest: description::GuestDescription) -> Self {
        Self { name: line(&guest.name), config: guest.config }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuestFile {
    guest: Vec<GuestEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuestEntry {
    name: String,
    #[serde(deserialize_with = "strands")]
    strands: Vec<StrandId>,
    #[serde(deserialize_with = "grant")]
    grant: Grant,
    #[serde(default)]
    compatible: bool,
}

fn strands<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<StrandId>, D::Error> {
    strands::parse(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn grant<'de, D: Deserializer<'de>>(from: D) -> Result<Grant, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|error| D::Error::custom(format!("found '{text}', {error}")))
}

/// Reads the guests from a TOML file:
///
/// ```toml
/// [[guest]]
/// name = "solaris"
/// strands = "0-127"
/// grant = "global+htstrand"   # none, strand, htstrand, global, global+strand, global+htstrand
/// compatible = true           # version 1.0 has the registers of 1.1; false if not given
/// ```
///
/// # Errors
/// The file cannot be read, or does not describe guests.
pub fn from_file(path: &Path) -> Result<Vec<NamedGuest>, FileError> {
    guests(&TomlText::read(path)?)
}

/// Reads the guests from a text in the format of [`from_file`].
///
/// # Errors
/// The text does not describe guests.
pub fn parse(text: &str) -> Result<Vec<NamedGuest>, FileError> {
    guests(&text.into())
}

fn guests(text: &TomlText) -> Result<Vec<NamedGuest>, FileError> {
    let file: GuestFile = text.parse()?;
    if file.guest.is_empty() {
        let problem = "there is no guest, expected at least one [[guest]]";
        return Err(text.wrong(None, problem));
    }
    Ok(file.guest.into_iter().map(NamedGuest::from).collect())
}

/// The error for an unusable file of guests, steps or a machine description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read, or is not text.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The content of the file is wrong at this place.
    #[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
    Wrong {
        /// The path, for messages; `text` if there is no file.
        file: String,
        /// The line number, from 1; `None` if the file as a whole is wrong.
        line: Option<usize>,
        /// What the file contains, and what was expected instead.
        problem: String,
    },
}

#[derive(Debug)]
pub(crate) struct TomlText {
    pub(crate) name: String,
    content: String,
}

impl From<&str> for TomlText {
    fn from(text: &str) -> Self {
        Self { name: "text".to_owned(), content: text.to_owned() }
    }
}

impl TomlText {
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        Ok(Self { name: path.display().to_string(), content: input::read_text(path)? })
    }

    pub(crate) fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, FileError> {
        toml::from_str(&self.content).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            self.wrong(Some(at), message)
        })
    }

    /// Returns the error for a problem. `at` is the problem's position in bytes.
    pub(crate) fn wrong(&self, at: Option<usize>, problem: impl Into<String>) -> FileError {
        FileError::Wrong {
            file: self.name.clone(),
            line: at.map(|at| self.line(at)),
            problem: problem.into(),
        }
    }

    /// Returns the line number, from 1, of the byte at position `at`.
    pub(crate) fn line(&self, at: usize) -> usize {
        1 + self.content[..at].matches('\n').count()
    }
}

impl From<GuestEntry> for NamedGuest {
    fn from(entry: GuestEntry) -> Self {
        let GuestEntry { name, strands, grant, compatible } = entry;
        let strands = strands.into_iter().collect();
        Self { name: line(&name), config: GuestConfig { strands, grant, compatible } }
    }
}

/// Returns the two guests that a machine has if no file describes guests. The first guest has all rights, and all cores except the last.
/// The second guest has the last core and no rights.
pub fn default(machine: Machine) -> Vec<NamedGuest> {
    let all = machine.strands();
    let guest = |name: &str, strands: std::ops::Range<usize>, grant| {
        let strands = strands.filter_map(StrandId::new).collect();
        let config = GuestConfig::new(strands, grant);
        NamedGuest { name: name.to_owned(), config }
    };
    let last_core = all - StrandId::PER_CORE;
    vec![guest("measuring", 0..last_core, Grant::ALL), guest("other", last_core..all, Grant::NONE)]
}
