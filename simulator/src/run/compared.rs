//! The settings that distinguish a run from other runs, and the run's results as numbers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

use super::conditions::{Conditions, USUAL_HUB_CYCLES};
use super::{CounterResult, EventCounts, Run, ThreadRun, Total};
use crate::machine::configuration::Configuration;
use crate::memory::Config;

/// A run's setting, such as its L2 cache's size in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The name. For a setting of the [configuration](Configuration), this is the name in a configuration file, such as `l2.bytes`.
    pub name: Cow<'static, str>,
    #[allow(missing_docs, reason = "its name says it")]
    pub value: SettingValue,
    /// Whether the value is that of a T2 Plus.
    pub is_usual: bool,
}

/// The value of a [`Setting`]. Numbers sort before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SettingValue {
    Number(u64),
    Text(String),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A number among a run's results, such as the count of an event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Figure {
    /// The name. For an event, this is its class and its name, such as `dram:mem_reads`.
    pub name: Cow<'static, str>,
    pub value: FigureValue,
}

/// The value of a [`Figure`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names say it")]
pub enum FigureValue {
    Count(u64),
    Ratio(f64),
}

impl FigureValue {
    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Ratio(ratio) => ratio,
        }
    }

    /// Compares two values by size.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Count(one), Self::Count(other)) => one.cmp(&other),
            _ => self.as_f64().total_cmp(&other.as_f64()),
        }
    }
}

impl fmt::Display for FigureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Ratio(ratio) => ratio.fmt(f),
        }
    }
}

/// Collects settings in order.
#[derive(Default)]
struct Settings(Vec<Setting>);

impl Settings {
    fn text(&mut self, name: &'static str, value: impl Into<String>) {
        self.add(name, SettingValue::Text(value.into()), false);
    }

    fn number(&mut self, name: &'static str, value: usize) {
        self.add(name, SettingValue::Number(value as u64), false);
    }

    fn add(&mut self, name: impl Into<Cow<'static, str>>, value: SettingValue, is_usual: bool) {
        self.0.push(Setting { name: name.into(), value, is_usual });
    }

    fn conditions(&mut self, conditions: &Conditions) {
        let Conditions { recordings, perf_config, hub_cycles } = conditions;
        if !recordings.is_empty() {
            self.text("recording", recordings.join(", "));
        }
        if !perf_config.is_empty() {
            self.add(
                "perf_config",
                SettingValue::Text(perf_config.to_string()),
                perf_config == "all",
            );
        }
        if *hub_cycles != 0 {
            let is_usual = *hub_cycles == USUAL_HUB_CYCLES;
            self.add("hub_cycles", SettingValue::Number(*hub_cycles), is_usual);
        }
    }

    fn configuration(&mut self, configuration: &Configuration) {
        let Configuration { machine, memory } = configuration;
        self.text("machine.model", machine.model().name());
        self.number("machine.nodes", machine.nodes());
        let without = configuration.without();
        let is_usual = without.is_empty();
        let without = if is_usual { "none".to_owned() } else { without.join(",") };
        self.add("machine.without", SettingValue::Text(without), is_usual);
        let interleave = machine.interleave();
        let is_usual = interleave == platform::Interleave::default();
        self.add("machine.interleave", SettingValue::Number(interleave.bytes()), is_usual);
        let is_usual = memory.pages == Config::T2_PLUS.pages;
        self.add("memory.pages", SettingValue::Text(memory.pages.to_string()), is_usual);
        for setting in &Config::SETTINGS {
            let (value, usual) = (memory.get(setting), Config::T2_PLUS.get(setting));
            let name = format!("{}.{}", setting.table, setting.key);
            self.add(name, SettingValue::Number(value), value == usual);
        }
    }
}

/// Collects figures in order.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn count(&mut self, name: impl Into<Cow<'static, str>>, count: u64) {
        self.0.push(Figure { name: name.into(), value: FigureValue::Count(count) });
    }

    fn ratio(&mut self, name: &'static str, number: f64, per: u64) {
        if per != 0 {
            self.0
                .push(Figure { name: name.into(), value: FigureValue::Ratio(number / per as f64) });
        }
    }

    fn threads(&mut self, threads: &[ThreadRun]) {
        let sum = ThreadRun::sum(&threads.iter().collect::<Vec<_>>());
        self.count("instructions", sum.instructions);
        self.ratio("CPI", sum.cycles as f64, sum.instructions);
        let misses = sum.served.local + sum.served.remote + sum.served.c2c;
        self.ratio("MPKI", 1000.0 * misses as f64, sum.instructions);
        self.count("local", sum.served.local);
        self.count("remote", sum.served.remote);
        self.count("c2c", sum.served.c2c);
    }

    fn counters(&mut self, counters: &[CounterResult]) {
        for total in Total::by_event(counters) {
            self.count(format!("{}:{}", total.class, total.event), total.measured);
        }
    }
}

impl Run {
    /// Returns the run's settings: what was replayed or executed, and on which machine.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Settings::default();
        match self {
            Self::Replay(run) => {
                settings.text("kind", "replay");
                settings.conditions(&run.conditions);
                settings.configuration(&run.configuration);
                settings.text("placement", &run.placement);
                let guests = run.guests.iter().map(|one| format!("{} ({})", one.name, one.grant));
                settings.text("guests", guests.collect::<Vec<_>>().join(", "));
            }
            Self::Scenario(run) => {
                settings.text("kind", "scenario");
                settings.text("scenario", &run.scenario);
                settings.conditions(&run.conditions);
                settings.configuration(&run.configuration);
                settings.text("placement", &run.placement);
            }
            Self::Execution(run) => {
                settings.text("kind", "execution");
                settings.text("machine.model", &*run.machine);
                settings.number("machine.nodes", run.nodes);
                let guests = run.guests.iter().map(|one| match &*one.program {
                    "" => one.name.clone(),
                    program => format!("{} ({program})", one.name),
                });
                settings.text("guests", guests.collect::<Vec<_>>().join(", "));
            }
            Self::Profile(run) => {
                settings.text("kind", "profile");
                settings.text("recording", &run.program);
                settings.text("unit", &*run.unit);
                settings.text("processor", &run.processor);
                if let Some(configuration) = &run.configuration {
                    settings.configuration(configuration);
                }
            }
            Self::Sharing(run) => {
                settings.text("kind", "sharing");
                settings.text("recording", &run.program);
                settings.configuration(&run.configuration);
                settings.text("placement", run.placement.to_string());
            }
        }
        if let Some(region) = self.region() {
            settings.text("region", region.selection());
        }
        settings.0
    }

    /// Returns the run's results as numbers. The run's length comes first. Event counts come last. The count of an event is the sum over
    /// all units.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = Figures::default();
        match self {
            Self::Replay(run) => {
                figures.count("cycles", run.cycles);
                figures.count("references", run.references);
                figures.threads(&run.threads);
                figures.count("hypercalls", run.hypercalls.total);
                figures.counters(&run.counters);
            }
            Self::Scenario(run) => {
                figures.count("cycles", run.cycles);
                figures.count("references", run.references);
                figures.threads(&run.threads);
                figures.count("hypercalls", run.hypercalls.total);
                let measured = run.phases.iter().flat_map(|phase| &phase.guests);
                let counters = measured.flat_map(|guest| guest.counters.iter().cloned());
                figures.counters(&counters.collect::<Vec<_>>());
            }
            Self::Execution(run) => {
                figures.count("cycles", run.time.cycles);
                let strands = run.strands.iter();
                figures.count("instructions", strands.map(|one| one.instructions.sum()).sum());
                figures.count("hypercalls", run.hypercalls.total);
                for event in &run.events {
                    figures.count(
                        format!("{}:{}", event.class, event.event),
                        EventCounts::total(event),
                    );
                }
            }
            Self::Profile(run) => {
                figures.count("cycles", run.cycles);
                figures.count("references", run.references);
                figures.count("instructions", run.instructions);
                for event in run.events().filter(|event| event.event != "cycles") {
                    figures.count(event.event.clone(), event.count);
                }
            }
            Self::Sharing(run) => {
                figures.count("cycles", run.cost.cycles);
                figures.count("transfers", run.cost.transfers);
                figures.count("invalidations", run.cost.invalidations);
            }
        }
        figures.0
    }

    /// Returns `true` if the observer stopped the run. The figures are then for the part before the stop.
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        match self {
            Self::Replay(run) => run.stopped,
            Self::Scenario(run) => run.stopped,
            Self::Profile(run) => run.stopped,
            Self::Sharing(run) => run.stopped,
            Self::Execution(_) => false,
        }
    }
}
