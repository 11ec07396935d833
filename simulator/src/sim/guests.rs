//! The guests of the simulation: who has which strands and rights.

use std::fmt;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::{Grant, GuestConfig};
use platform::Machine;
use serde::Deserialize;

use crate::{md, strands};

/// A guest.
#[derive(Clone, Debug)]
pub struct Guest {
    /// What the reports call it.
    pub name: String,
    /// What the service is told.
    pub config: GuestConfig,
}

impl From<md::Guest> for Guest {
    fn from(guest: md::Guest) -> Self {
        Self {
            name: guest.name,
            config: guest.config,
        }
    }
}

/// What a configuration file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    guest: Vec<Entry>,
}

/// A guest, as files have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    name: String,
    strands: Strands,
    grant: Granted,
    #[serde(default)]
    compatible: bool,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Strands(Vec<StrandId>);

impl TryFrom<String> for Strands {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        strands::parse(&text).map(Self)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Granted(Grant);

impl TryFrom<String> for Granted {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        text.parse()
            .map(Self)
            .map_err(|error| anyhow!("found '{text}', {error}"))
    }
}

/// The guests of a TOML file:
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
/// The file cannot be read, or is not such a file; the message has the number of the line.
pub fn from_file(path: &Path) -> anyhow::Result<Vec<Guest>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
    let file: File = toml::from_str(&text).map_err(|error| bad_toml(&name, &text, &error))?;
    if file.guest.is_empty() {
        bail!("{name}: there is no guest, expected at least one [[guest]]");
    }
    Ok(file.guest.into_iter().map(Guest::from).collect())
}

impl From<Entry> for Guest {
    fn from(entry: Entry) -> Self {
        let Entry {
            name,
            strands: Strands(strands),
            grant: Granted(grant),
            compatible,
        } = entry;
        Self {
            name,
            config: GuestConfig {
                strands: strands.into_iter().collect(),
                grant,
                compatible,
            },
        }
    }
}

/// The line of a file, counted from 1, that has this byte.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    1 + text[..byte].matches('\n').count()
}

/// What is wrong with a TOML file, and in which line.
pub(super) fn bad_toml(
    name: &dyn fmt::Display,
    text: &str,
    error: &toml::de::Error,
) -> anyhow::Error {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    anyhow!("{name}:{line}: {message}")
}

/// Two guests: one with every right and all cores but the last, and one without rights on the last core.
#[must_use]
pub fn default(machine: Machine) -> Vec<Guest> {
    let all = machine.strands();
    let guest = |name: &str, strands: std::ops::Range<usize>, grant| Guest {
        name: name.to_owned(),
        config: GuestConfig {
            strands: strands.filter_map(StrandId::new).collect(),
            grant,
            compatible: false,
        },
    };
    let last_core = all - StrandId::PER_CORE;
    vec![
        guest("measuring", 0..last_core, Grant::ALL),
        guest("other", last_core..all, Grant::NONE),
    ]
}

/// The guest that has all of these strands.
///
/// # Errors
/// A strand is nobody's, or they are not all of one guest.
pub fn holder(guests: &[Guest], strands: &[StrandId]) -> anyhow::Result<GuestId> {
    let mut holder = None;
    for strand in strands {
        let of = guests
            .iter()
            .position(|guest| guest.config.strands.has(*strand));
        let of = of.with_context(|| format!("strand {strand} belongs to no guest"))?;
        if let Some(other) = holder.replace(of).filter(|other| *other != of) {
            bail!(
                "the program's strands belong to two guests, {} and {}; expected strands of one",
                guests[other].name,
                guests[of].name
            );
        }
    }
    holder
        .and_then(GuestId::new)
        .context("the program has no strand")
}
