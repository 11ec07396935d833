//! Computes each event's total count, and several threads' totals.

use std::borrow::Cow;

use guest_abi::{Pmu, StrandId};
use serde::Serialize;

use super::{CounterResult, ThreadRun};
use crate::counts::Counts;

const FIRST: StrandId = match StrandId::new(0) {
    Some(strand) => strand,
    None => panic!("every machine has it"),
};

/// An event's count, summed over all units of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// The class, in the form that [`Selection::parse`](crate::replay::Selection::parse) accepts.
    pub class: &'static str,
    #[allow(missing_docs, reason = "its name says it")]
    pub event: Cow<'static, str>,
    /// The number of counters that are in the sum.
    pub counters: u64,
    /// The sum of the counts that the guest measured.
    pub measured: u64,
    /// The number of events that really happened.
    pub truth: u64,
    /// The measured count at each hub for gpd and asu events, or at each node for all other events.
    pub by_place: [u64; 4],
}

impl Total {
    /// Returns the total of each event, in the order of the counters.
    #[must_use]
    pub fn by_event(counters: &[CounterResult]) -> Vec<Self> {
        let mut totals: Vec<Self> = Vec::new();
        for counter in counters {
            let (class, number) = place(counter);
            let event = &counter.event;
            let same = |total: &Self| (total.class, &total.event) == (class, event);
            let index = totals.iter().position(same).unwrap_or_else(|| {
                let (event, by_place) = (event.clone(), [0; 4]);
                totals.push(Self { class, event, counters: 0, measured: 0, truth: 0, by_place });
                totals.len() - 1
            });
            let total = &mut totals[index];
            total.counters += 1;
            total.measured += counter.measured;
            total.truth += counter.truth;
            total.by_place[number] += counter.measured;
        }
        totals
    }

    /// Returns `true` for gpd and asu events, which each hub counts. Returns `false` for all other events, whose counts are added up by
    /// node.
    #[must_use]
    pub fn is_by_hub(&self) -> bool {
        matches!(self.class, "gpd" | "asu")
    }
}

/// Returns the class of a counter's event, and the number of the counter's node or hub.
fn place(counter: &CounterResult) -> (&'static str, usize) {
    let pmu = counter.perfreg.and_then(Pmu::from_register);
    let number = match pmu {
        Some(Pmu::Dram(dram)) => dram.node.index(),
        Some(Pmu::Lpu(lpu)) => lpu.port.index(),
        Some(Pmu::Gpd(gpd)) => gpd.hub.index(),
        Some(Pmu::Asu(asu)) => asu.hub.index(),
        None => counter.strand.map_or(0, |strand| strand.node().index()),
    };
    (class(pmu), number)
}

/// Returns the class of events that a PMU counts. Without a PMU, returns the class of events that a strand counts.
pub(crate) const fn class(pmu: Option<Pmu>) -> &'static str {
    match pmu {
        Some(Pmu::Dram(_)) => "dram",
        Some(Pmu::Lpu(_)) => "lpu",
        Some(Pmu::Gpd(_)) => "gpd",
        Some(Pmu::Asu(_)) => "asu",
        None => "pic",
    }
}

impl ThreadRun {
    /// Returns the number of the node whose strand executes the thread.
    #[must_use]
    pub const fn node(&self) -> usize {
        self.strand.node().index()
    }

    /// Returns the record for a thread that has not executed yet.
    pub(crate) fn new(thread: usize, strand: StrandId) -> Self {
        let (served, stack, states) = Default::default();
        Self { thread, strand, instructions: 0, cycles: 0, served, stack, states }
    }

    /// Returns several threads' totals. The thread and strand of the returned record are 0.
    #[must_use]
    pub fn sum(threads: &[&Self]) -> Self {
        let mut sum = Self::new(0, FIRST);
        for thread in threads {
            Counts::add(&mut sum, thread);
        }
        sum
    }
}
