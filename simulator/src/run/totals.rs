//! Computes the total of each event's counts, and the sum of what several threads did.

use std::borrow::Cow;

use guest_abi::{Pmu, StrandId};
use serde::Serialize;

use super::{CounterResult, ThreadRun};
use crate::counts::Counts;

const FIRST: StrandId = match StrandId::new(0) {
    Some(strand) => strand,
    None => panic!("every machine has it"),
};

/// The count of an event, summed over all units of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// The class, in the form that [`Selection::parse`](crate::replay::Selection::parse) accepts.
    pub class: &'static str,
    #[allow(missing_docs, reason = "its name says it")]
    pub event: Cow<'static, str>,
    /// How many counters are in the sum.
    pub counters: u64,
    /// The sum of the counts that the guest measured.
    pub measured: u64,
    /// The number of events that really happened.
    pub truth: u64,
    /// The measured count of each place. The places of gpd and asu events are the hubs. The places of all other events are the nodes.
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

    /// Returns `true` for gpd and asu events, of which each hub has one count. Returns `false` for all other events, whose counts
    /// belong to nodes.
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

/// Returns the class of the events that a PMU counts. Without a PMU, returns the class of a strand's events.
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

    /// Returns the record of a thread that has not executed yet.
    pub(crate) fn new(thread: usize, strand: StrandId) -> Self {
        let (served, stack, states) = Default::default();
        Self { thread, strand, instructions: 0, cycles: 0, served, stack, states }
    }

    /// Returns the sum of what several threads did. The thread and strand of the sum are 0.
    #[must_use]
    pub fn sum(threads: &[&Self]) -> Self {
        let mut sum = Self::new(0, FIRST);
        for thread in threads {
            Counts::add(&mut sum, thread);
        }
        sum
    }
}
