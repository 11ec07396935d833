//! A profile's report, from which tables, files and flame graphs are made.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::functions::Functions;
use super::guest::Samples;
use super::processor::ExactCounts;
use super::rows::{CodeRow, Rows, inclusive};
use super::sampled::SampledEvent;
use super::stacks::Stacks;
use crate::machine::configuration::Configuration;
use crate::run::RegionRun;

/// One event's profile: its counts, and its samples by function or page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct EventProfile {
    pub event: Cow<'static, str>,
    /// Whether the processor model can cause the event.
    pub modelled: bool,
    /// Why the event cannot happen; `None` if the model can cause it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absence: Option<Cow<'static, str>>,
    /// The number of events per sample.
    pub period: u32,
    pub samples: u64,
    /// The number of samples lost because the guest's buffer was full.
    pub lost: u64,
    /// The number of periods that ended while the previous period's interrupt was still pending.
    pub missed: u64,
    /// The guest's count of the event. If the event takes turns with others on its counter, the count is scaled up
    /// to the whole time.
    pub count: u64,
    /// The standard error of `count`; 0 if the event was counted all the time, and `None` if the error is unknown.
    pub count_error: Option<u64>,
    /// The guest's count, not scaled.
    pub counted: u64,
    /// The true number of events.
    pub exact_count: u64,
    /// What a row represents: `function` if there are symbols, otherwise `page`.
    pub rows_by: Cow<'static, str>,
    /// Each function's or page's samples and events. The row with the largest share is first.
    pub rows: Vec<CodeRow>,
    /// The total variation distance between the samples and the truth over all rows, from 0 to 1.
    pub total_variation: f64,
    /// The mean total variation distance to the truth that the same number of samples would have if they were drawn at
    /// random from the true events.
    pub total_variation_by_chance: f64,
    /// Like `rows`, but each row's numbers include the function's callees. `None` if there are no call stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inclusive: Option<Vec<CodeRow>>,
    #[serde(skip)]
    taken: Samples,
    #[serde(skip)]
    exact: ExactCounts,
}

impl EventProfile {
    /// Returns an event's profile, which compares the samples with the truth.
    pub(super) fn new(
        sampled: SampledEvent,
        exact: ExactCounts,
        symbols: Option<&dyn Functions>,
        stacks: Option<&Stacks>,
    ) -> Self {
        let taken = sampled.taken;
        let rows = Rows::new(&taken, &exact, symbols);
        Self {
            event: sampled.name.into(),
            modelled: sampled.absence.is_none(),
            absence: sampled.absence.map(Cow::from),
            period: sampled.period,
            samples: taken.values().map(|weight| weight.samples).sum(),
            lost: sampled.lost,
            missed: sampled.missed,
            count: sampled.count,
            count_error: sampled.count_error,
            counted: sampled.counted,
            exact_count: exact.values().sum(),
            rows_by: match symbols {
                Some(_) => "function".into(),
                None => "page".into(),
            },
            rows: rows.rows,
            total_variation: rows.total_variation,
            total_variation_by_chance: rows.by_chance,
            inclusive: stacks.map(|stacks| inclusive(&taken, &exact, symbols, stacks)),
            taken,
            exact,
        }
    }

    /// Returns the true number of events at each point.
    #[must_use]
    pub fn exact(&self) -> &ExactCounts {
        &self.exact
    }

    /// Returns the samples at each point.
    #[must_use]
    pub fn taken(&self) -> &Samples {
        &self.taken
    }
}

/// A program's profile. In JSON, the first event's profile is at the top level, and further events' profiles are in
/// a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct ProfileReport {
    pub unit: Cow<'static, str>,
    pub processor: String,
    /// The machine's configuration; `None` for an R10000.
    pub configuration: Option<Configuration>,
    pub program: String,
    pub threads: usize,
    /// The part of the program that was profiled; `None` if it is the whole program. All counts are for this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionRun>,
    pub instructions: u64,
    /// The number of replayed references, including fetches.
    pub references: u64,
    pub cycles: u64,
    pub interrupts: u64,
    /// Whether periods vary at random.
    pub randomised: bool,
    /// Whether cycles include threads' waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Notes for the reader. Each is a full sentence without a full stop.
    pub notes: Vec<String>,
    /// Sentences about program actions that are missing from the recording. `notes` contains these sentences, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether the observer stopped the job. If so, all numbers are for the part of the job before the stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    #[serde(flatten)]
    pub first: EventProfile,
    pub further_events: Vec<EventProfile>,
    #[serde(skip)]
    pub(super) stacks: Stacks,
}

impl ProfileReport {
    /// Returns the profiles of all events, in the order of the user's list.
    pub fn events(&self) -> impl Iterator<Item = &EventProfile> {
        std::iter::once(&self.first).chain(&self.further_events)
    }

    /// Returns the program's call stacks. If the recording has no control flow, the only stack is the empty one.
    #[must_use]
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }
}
