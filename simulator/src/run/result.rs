//! The result of a replay or an execution, and its JSON.

use std::borrow::Cow;
use std::path::Path;

use guest_abi::StrandId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::executed::Executed;
use super::played::Played;
use super::region::RegionRun;
use super::replayed::Replayed;
use crate::analysis::{profile, sharing};
use crate::events::Trace;
use crate::input::{self, InputError};
use crate::json;
use crate::text::{self, line};

/// The version of a [`Run`]'s JSON. It increases whenever a field is removed or its meaning changes.
pub const VERSION: u64 = 1;

/// The maximum length of a run's file in bytes. In memory, the run takes up to sixteen times as many.
pub const MAX_BYTES: u64 = 64 << 20;

/// The result of a replay or an execution.
///
/// The JSON is one object with `version`, `kind`, and the kind's fields. Because of the attribute `remote`, serde derives plain
/// functions instead of trait implementations. The implementations below call these functions, and add the version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", remote = "Self")]
#[allow(clippy::large_enum_variant, reason = "a program has one value")]
pub enum Run {
    /// The result of a replay without a scenario.
    Replay(Replayed),
    /// The result of a replay during which an operator played a scenario.
    Scenario(Played),
    /// The result of an execution of guests.
    Execution(Executed),
    /// A program's profile.
    Profile(profile::report::ProfileReport),
    /// The memory lines that move between nodes while a program executes.
    Sharing(sharing::SharingReport),
}

/// The error of [`Run::read`]: the file cannot be read, or does not contain a [`Run`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReadError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{name}")]
    Parse { name: String, source: ParseError },
}

/// The error of [`Run::parse`]: the text is not the JSON of a [`Run`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ParseError {
    #[error("is not JSON")]
    Json(#[source] serde_json::Error),
    #[error("is not a run: it has no version")]
    NoVersion,
    #[error("is a run of format version {found}, expected version {VERSION}")]
    Version { found: u64 },
    #[error("is not a run")]
    Field(#[source] serde_json::Error),
    /// Two fields contradict each other. The message names the fields.
    #[error("{0}")]
    Contradiction(String),
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Versioned<'a> {
            version: u64,
            #[serde(flatten, serialize_with = "Run::serialize")]
            run: &'a Run,
        }
        let version = VERSION;
        Versioned { version, run: self }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(from)?).map_err(|error| match error {
            ParseError::Json(source) | ParseError::Field(source) => D::Error::custom(source),
            other => D::Error::custom(other),
        })
    }
}

impl Run {
    /// Reads a run from a file.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&input::read(path, MAX_BYTES)?)
            .map_err(|source| ReadError::Parse { name: path.display().to_string(), source })
    }

    /// Reads a run from JSON.
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        Self::from_value(serde_json::from_slice(text).map_err(ParseError::Json)?)
    }

    /// Returns the run as JSON. Characters that are not [plain](crate::text::is_plain) are escaped. The conversion is compiled in
    /// this crate, so it is optimised even if the caller's crate is not.
    pub fn json(&self) -> serde_json::Result<String> {
        let json = json::pretty(self)?;
        Ok(match text::json(&json) {
            Cow::Borrowed(_) => json,
            Cow::Owned(escaped) => escaped,
        })
    }

    fn from_value(mut value: Value) -> Result<Self, ParseError> {
        escape(&mut value);
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(found) => return Err(ParseError::Version { found }),
            None => return Err(ParseError::NoVersion),
        }
        let run = Self::deserialize(value).map_err(ParseError::Field)?;
        run.check().map_err(ParseError::Contradiction)?;
        Ok(run)
    }

    /// Returns notes on the limits of the results. Each note is a full sentence without a full stop.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Replay(run) => &run.notes,
            Self::Scenario(run) => &run.notes,
            Self::Execution(_) => &[],
            Self::Profile(run) => &run.notes,
            Self::Sharing(run) => &run.notes,
        }
    }

    /// Returns the part of its programs that the run covers; `None` if it covers them completely.
    #[must_use]
    pub const fn region(&self) -> Option<&RegionRun> {
        match self {
            Self::Replay(run) => run.region.as_ref(),
            Self::Profile(run) => run.region.as_ref(),
            Self::Sharing(run) => run.region.as_ref(),
            Self::Scenario(_) | Self::Execution(_) => None,
        }
    }

    /// Returns `false` if any counter differs from the true count.
    #[must_use]
    pub const fn truth_matches(&self) -> bool {
        match self {
            Self::Replay(run) => run.truth_matches,
            Self::Scenario(run) => run.truth_matches,
            Self::Execution(_) | Self::Profile(_) | Self::Sharing(_) => true,
        }
    }

    /// Returns the hypervisor's events; `None` unless the setup of a replay asks for them.
    #[must_use]
    pub const fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Replay(run) => run.trace.as_ref(),
            Self::Scenario(run) => run.trace.as_ref(),
            Self::Execution(_) | Self::Profile(_) | Self::Sharing(_) => None,
        }
    }

    /// Checks that the machine has a clock, and that it has the nodes and strands that the fields name.
    fn check(&self) -> Result<(), String> {
        let (nodes, hertz, usage, strands): (_, _, _, Vec<StrandId>) = match self {
            Self::Replay(run) => {
                let strands = run.threads.iter().map(|thread| thread.strand);
                (run.nodes, run.time.hertz, Some(&run.usage), strands.collect())
            }
            Self::Execution(run) => {
                let strands = run.strands.iter().map(|strand| strand.strand);
                (run.nodes, run.time.hertz, run.usage.as_ref(), strands.collect())
            }
            Self::Scenario(_) | Self::Profile(_) | Self::Sharing(_) => return Ok(()),
        };
        if hertz == 0 {
            return Err("the clock rate is 0".to_owned());
        }
        let traffic = usage.iter().flat_map(|usage| &usage.traffic);
        let channels = usage.iter().flat_map(|usage| &usage.channels);
        let links = usage.iter().flat_map(|usage| &usage.links);
        let mut named = (traffic.flat_map(|one| [one.from, one.to]))
            .chain(channels.map(|one| one.node))
            .chain(links.map(|one| one.node));
        if let Some(node) = named.find(|node| *node >= nodes) {
            return Err(format!("node {node} is not in the machine"));
        }
        match strands.iter().find(|strand| strand.node().index() >= nodes) {
            Some(strand) => Err(format!("strand {strand} is not in the machine")),
            None => Ok(()),
        }
    }
}

/// Makes each string a single [line], except a guest's console output, whose lines a page shows.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) => *text = line(text),
        Value::Array(values) => values.iter_mut().for_each(escape),
        Value::Object(fields) => {
            for (name, mut value) in std::mem::take(fields) {
                if name != "console" {
                    escape(&mut value);
                }
                fields.insert(line(&name), value);
            }
        }
        _ => {}
    }
}

macro_rules! from {
    ($($kind:ident: $type:ty),* $(,)?) => {
        $(impl From<$type> for Run {
            fn from(run: $type) -> Self {
                Self::$kind(run)
            }
        })*
    };
}

from! {
    Replay: Replayed, Scenario: Played, Execution: Executed, Profile: profile::report::ProfileReport,
    Sharing: sharing::SharingReport,
}
