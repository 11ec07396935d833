//! The report of a profile, for tables, files and flame graphs.

use guest_abi::sampling::EventReport;
use serde::Serialize;

use super::events::Selected;
use super::guest::Taken;
use super::rows::{Functions, Row, Rows, inclusive};
use super::run::Exact;
use super::stacks::Stacks;
use crate::configuration::Configuration;

/// The profile of one event.
#[derive(Clone, Debug, Serialize)]
pub struct EventProfile {
    /// Its name.
    pub event: &'static str,
    /// Whether the event can happen.
    pub modelled: bool,
    /// If not, why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absence: Option<&'static str>,
    /// How many events make a sample.
    pub period: u32,
    /// Samples taken.
    pub samples: u64,
    /// Samples that were lost.
    pub lost: u64,
    /// Periods that ended before the interrupt for the period before them was handled.
    pub missed: u64,
    /// The count of the guest, scaled up for the time in which the event was not counted.
    pub count: u64,
    /// One standard error of `count`; 0 if the event was counted all the time, `None` if it is not known.
    pub count_error: Option<u64>,
    /// The events that were counted, before scaling.
    pub counted: u64,
    /// How many events really happened.
    pub exact_count: u64,
    /// What a row stands for: `function` if symbols are known, or else `page`.
    pub rows_by: &'static str,
    /// By function or page.
    pub rows: Vec<Row>,
    /// The total variation distance between samples and truth, over the rows: 0 to 1.
    pub total_variation: f64,
    /// The mean of that distance for as many samples that are drawn at random.
    pub total_variation_by_chance: f64,
    /// By function or page, with all that it calls; `None` if no call stacks are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inclusive: Option<Vec<Row>>,
    #[serde(skip)]
    taken: Taken,
    #[serde(skip)]
    exact: Exact,
}

impl EventProfile {
    /// Returns the profile of an event, from what the guests found, each on its strand, and what really happened. `stacks` are
    /// those of the program, if they are known.
    #[must_use]
    pub fn new<E>(
        selected: &Selected<E>,
        period: u32,
        found: &[EventReport<E>],
        taken: Taken,
        exact: Exact,
        symbols: Option<&dyn Functions>,
        stacks: Option<&Stacks>,
    ) -> Self {
        let rows = Rows::new(&taken, &exact, symbols);
        let estimates = || found.iter().filter_map(|found| found.estimate);
        Self {
            event: selected.name,
            modelled: selected.absence.is_none(),
            absence: selected.absence,
            period,
            samples: taken.values().map(|weight| weight.samples).sum(),
            lost: found.iter().map(|found| found.lost).sum(),
            missed: found.iter().map(|found| found.missed).sum(),
            count: estimates().map(|estimate| estimate.events).sum(),
            count_error: together(found.iter().map(|found| found.estimate?.error)),
            counted: estimates().map(|estimate| estimate.counted).sum(),
            exact_count: exact.values().sum(),
            rows_by: if symbols.is_some() {
                "function"
            } else {
                "page"
            },
            rows: rows.rows,
            total_variation: rows.total_variation,
            total_variation_by_chance: rows.by_chance,
            inclusive: stacks.map(|stacks| inclusive(&taken, &exact, symbols, stacks)),
            taken,
            exact,
        }
    }

    /// Returns what really happened.
    #[must_use]
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Returns the samples.
    #[must_use]
    pub fn taken(&self) -> &Taken {
        &self.taken
    }
}

/// Returns the standard error of a sum, rounded up, from those of its parts, which do not depend on each other.
fn together(errors: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let variance = errors.map(|error| error.map(|error| u128::from(error).pow(2)));
    let variance: u128 = variance.sum::<Option<u128>>()?;
    let root = variance.isqrt();
    u64::try_from(root + u128::from(root * root < variance)).ok()
}

/// A profile. In a file, the profile of the first event is on the top level, and the others are a list.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The counter unit.
    pub unit: &'static str,
    /// A description of the processor.
    pub processor: String,
    /// The configuration of the machine whose strands execute the program; `None` for an R10000, which has none.
    pub configuration: Option<Configuration>,
    /// The name of the recording.
    pub program: String,
    /// Its threads.
    pub threads: usize,
    /// Instructions executed.
    pub instructions: u64,
    /// References replayed.
    pub references: u64,
    /// Cycles passed.
    pub cycles: u64,
    /// How many times the counters interrupted.
    pub interrupts: u64,
    /// Whether periods vary at random.
    pub randomised: bool,
    /// What somebody who reads the report should know: whole sentences without a full stop.
    pub notes: Vec<String>,
    /// The first event.
    #[serde(flatten)]
    pub first: EventProfile,
    /// The others.
    pub further_events: Vec<EventProfile>,
    #[serde(skip)]
    pub(super) stacks: Stacks,
}

impl Report {
    /// Returns the profiles of all events.
    pub fn events(&self) -> impl Iterator<Item = &EventProfile> {
        std::iter::once(&self.first).chain(&self.further_events)
    }

    /// Returns the call stacks of the program. All are empty if the recording does not have what they are rebuilt from.
    #[must_use]
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }
}
