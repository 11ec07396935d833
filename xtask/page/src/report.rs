//! A report as `cargo xtask sim --json` writes it: what the page shows of it.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use simulator::details::Reads;
use simulator::memory::Config;
use simulator::recording::Mapping;

/// A report. See `simulator::simulation::Outcome` for what each part means.
#[derive(Clone, Debug, Deserialize)]
#[expect(
    missing_docs,
    reason = "the type that is written has the documentation"
)]
pub struct Report {
    pub machine: String,
    pub nodes: usize,
    #[serde(default)]
    pub configuration: Value,
    pub references: u64,
    pub cycles: u64,
    pub placement: String,
    pub threads: Vec<Thread>,
    pub notes: Vec<String>,
    pub guests: Vec<Guest>,
    pub counters: Vec<Counter>,
    pub truth_matches: bool,
    pub time: Time,
    #[serde(flatten)]
    pub usage: Usage,
    #[serde(default)]
    pub details: Option<Details>,
}

/// How channels, hubs and links were used.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Usage {
    pub traffic: Vec<Traffic>,
    pub channels: Vec<Channel>,
    pub hubs: Vec<Hub>,
    pub links: Vec<Link>,
}

impl Usage {
    /// Fails unless the machine has so many nodes as these parts say.
    pub(crate) fn check(&self, nodes: usize) -> anyhow::Result<()> {
        let traffic = self.traffic.iter().flat_map(|one| [one.from, one.to]);
        let channels = self.channels.iter().map(|one| one.node);
        let links = self.links.iter().map(|one| one.node);
        for node in traffic.chain(channels).chain(links) {
            ensure!(node < nodes, "node {node} is not in the machine");
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Time {
    pub hertz: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Thread {
    pub thread: usize,
    pub strand: usize,
    pub instructions: u64,
    pub cycles: u64,
    pub served: Served,
    pub stack: Stack,
}

impl Thread {
    /// Returns the node of the thread's strand.
    #[must_use]
    pub fn node(&self) -> usize {
        self.strand / 64
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Served {
    pub l2: u64,
    pub local: u64,
    pub remote: u64,
    pub c2c: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Stack {
    pub busy: u64,
    pub l2: u64,
    pub local: u64,
    pub remote: u64,
    pub c2c: u64,
    pub arriving: u64,
    pub stores: u64,
    pub atomics: u64,
    pub pipeline: u64,
}

impl Stack {
    /// Returns what the parts are called, and their cycles, in the order in which they are shown.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, u64); 9] {
        [
            ("busy", self.busy),
            ("L2 cache", self.l2),
            ("memory of the node", self.local),
            ("memory of another node", self.remote),
            ("cache of another node", self.c2c),
            ("a line on its way", self.arriving),
            ("room for a store", self.stores),
            ("atomic stores", self.atomics),
            ("the pipeline", self.pipeline),
        ]
    }
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Guest {
    pub name: String,
    pub grant: String,
    pub hypercalls: Hypercalls,
    pub by_class: BTreeMap<String, Hypercalls>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Hypercalls {
    pub total: u64,
    pub by_status: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Counter {
    pub name: String,
    pub event: String,
    pub measured: u64,
    pub truth: u64,
}

/// Lines that went from a node to a node.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Traffic {
    pub from: usize,
    pub to: usize,
    pub kind: String,
    pub lines: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Channel {
    pub node: usize,
    pub mcu: usize,
    pub reads: u64,
    pub writes: u64,
    pub busy: u64,
    pub limit: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Hub {
    pub hub: usize,
    pub requests: u64,
    pub busy: u64,
    pub waited: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Link {
    pub hub: usize,
    pub node: usize,
    #[serde(rename = "in")]
    pub inward: u64,
    pub out: u64,
    pub busy: u64,
    pub limit: u64,
}

/// What takes time to collect.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Details {
    pub programs: Vec<Program>,
    pub series: Series,
    pub heat: Heat,
    pub code: Vec<Instruction>,
    pub code_others: Missed,
    pub lines: Lines,
    pub calls: Vec<Call>,
    pub conflicts: Vec<Conflicts>,
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Program {
    pub name: String,
    pub command: Option<String>,
    pub threads: usize,
    pub mappings: Vec<Mapping>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Series {
    pub cycles: Vec<u64>,
    pub clock: Vec<u64>,
    #[serde(default)]
    pub reads: Reads,
    pub hypercalls: Vec<GuestSeries>,
    pub counters: Vec<CounterSeries>,
    pub channels: Vec<ChannelSeries>,
    pub links: Vec<LinkSeries>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct GuestSeries {
    pub guest: String,
    pub calls: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct CounterSeries {
    #[serde(default)]
    pub class: String,
    pub unit: String,
    pub event: String,
    pub measured: Vec<u64>,
    pub truth: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct ChannelSeries {
    pub node: usize,
    pub mcu: usize,
    pub busy: Vec<u64>,
    pub bytes: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct LinkSeries {
    pub hub: usize,
    pub node: usize,
    pub busy: Vec<u64>,
    pub bytes: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Heat {
    pub first: Vec<String>,
    pub bytes: Vec<u64>,
    pub cycles: Vec<u64>,
    pub misses: Vec<Vec<u64>>,
    pub transfers: Vec<Vec<u64>>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Instruction {
    pub program: usize,
    #[serde(deserialize_with = "address")]
    pub address: Option<u64>,
    #[serde(flatten)]
    pub missed: Missed,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Missed {
    pub misses: Served,
    pub cycles: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Lines {
    pub moved: u64,
    pub transfers: u64,
    pub invalidations: u64,
    pub hottest: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Line {
    pub address: String,
    pub home: usize,
    pub transfers: u64,
    pub invalidations: u64,
    pub sharing: String,
    pub users: Vec<User>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct User {
    pub thread: usize,
    pub strand: usize,
    #[serde(deserialize_with = "address")]
    pub instruction: Option<u64>,
    pub what: String,
    pub bytes: String,
    pub times: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Call {
    pub guest: String,
    pub call: String,
    pub registers: String,
    pub status: String,
    pub count: u64,
    pub latency: Latency,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Latency {
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub longest: u64,
    #[serde(default)]
    pub part: u64,
    pub histogram: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Conflicts {
    pub from: u64,
    pub hubs: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Event {
    pub time: u64,
    pub strand: usize,
    pub name: String,
    pub fields: Value,
}

/// Reads an address, which is text such as `0x1000`, or null.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    let read = |text: String| {
        let digits = text
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits.ok_or_else(|| D::Error::custom(format_args!("'{text}' is no address")))
    };
    text.map(read).transpose()
}

/// Returns the settings of a configuration that are not those of a T2 Plus, each with its value.
pub(crate) fn settings(configuration: &Value) -> Vec<String> {
    let settings = Config::SETTINGS.iter().filter_map(|setting| {
        let (table, key) = (setting.table, setting.key);
        let value = configuration.get(table)?.get(key)?.as_u64()?;
        let usual = Config::T2_PLUS.get(setting);
        (value != usual).then(|| format!("{table}.{key} = {value} (not {usual})"))
    });
    settings.collect()
}

impl Report {
    /// Returns the settings that are not those of a T2 Plus, each with its value.
    #[must_use]
    pub fn settings(&self) -> Vec<String> {
        settings(&self.configuration)
    }

    /// Returns the programs, if the report names them.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        self.details
            .as_ref()
            .map_or(&[], |details| &details.programs)
    }

    /// Reads a report.
    ///
    /// # Errors
    /// The text is no JSON, or no report of a simulation.
    pub fn parse(text: &[u8]) -> anyhow::Result<Self> {
        Self::read(serde_json::from_slice(text).context("is no JSON")?)
    }

    /// Takes a report from JSON.
    ///
    /// # Errors
    /// The value is no report of a simulation.
    pub(crate) fn read(value: Value) -> anyhow::Result<Self> {
        ensure!(
            value.get("scenario").is_none(),
            "is the report of a scenario, expected that of a run"
        );
        let report: Self =
            serde_json::from_value(value).context("is no report of cargo xtask sim --json")?;
        report.check()?;
        Ok(report)
    }

    /// Fails unless numbers that are beside each other belong together.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(self.time.hertz > 0.0, "the clock stands still");
        self.usage.check(self.nodes)?;
        for node in self.threads.iter().map(Thread::node) {
            ensure!(node < self.nodes, "node {node} is not in the machine");
        }
        Ok(())
    }

    /// Returns the seconds that so many cycles take.
    #[must_use]
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / self.time.hertz
    }
}
