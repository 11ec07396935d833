//! What came of a simulation: measured values beside what really happened.

use std::collections::BTreeMap;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::layout::PerfConfig;
use guest_abi::{Counter, Node, Pmu};
use hv_core::GuestId;
use perfctr_service::statistics::{Class, Operation, Outcome as Ended, Statistics};
use serde::Serialize;

use super::measure::{Pair, Place};
use crate::events::Recording;
use crate::guests::Guest;
use crate::machine::board::{Board, Tally};
use crate::memory::Truth;
use crate::nearest::status_name;

/// Everything, as `--json` writes it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The family of the machine.
    pub machine: &'static str,
    /// How many nodes it has.
    pub nodes: usize,
    /// References replayed.
    pub references: u64,
    /// How many cycles the references took.
    pub cycles: u64,
    /// Hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// Hypercalls guest by guest.
    pub guests: Vec<GuestResults>,
    /// Every counter that was given an event.
    pub counters: Vec<CounterResult>,
    /// Whether every counter showed what really happened.
    pub truth_matches: bool,
    /// What the hypervisor noted of its calls, if [asked for](super::Setup::tracing).
    #[serde(skip)]
    pub trace: Option<Recording>,
}

/// How hypercalls ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hypercalls {
    /// All of them.
    pub total: u64,
    /// By the name of the status.
    pub by_status: BTreeMap<String, u64>,
}

/// A guest's hypercalls.
#[derive(Clone, Debug, Serialize)]
pub struct GuestResults {
    /// Its name.
    pub name: String,
    /// What it was granted.
    pub grant: String,
    /// How its hypercalls ended.
    pub hypercalls: Hypercalls,
    /// How the service's own statistics count those for registers, by class of register.
    pub by_class: BTreeMap<&'static str, Hypercalls>,
}

/// One counter over the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterResult {
    /// The PerfReg of the PIC; none for %pic.
    pub perfreg: Option<u64>,
    /// 0 or 1.
    pub counter: usize,
    /// The strand, for %pic.
    pub strand: Option<usize>,
    /// The name of the register.
    pub name: &'static str,
    /// What was counted.
    pub event: &'static str,
    /// What the guest read.
    pub measured: u64,
    /// What happened.
    pub truth: u64,
}

impl Hypercalls {
    /// The same by name.
    #[must_use]
    pub fn new(tally: &Tally) -> Self {
        let by_status = tally
            .iter()
            .map(|(status, count)| (status_name(*status), *count))
            .collect();
        Self {
            total: tally.values().sum(),
            by_status,
        }
    }

    /// Gets and sets of one class of registers.
    fn of_class(statistics: &Statistics, class: Class) -> Self {
        let count = |outcome: &Ended| -> u64 {
            [Operation::Get, Operation::Set]
                .map(|operation| statistics.count(operation, class, *outcome))
                .iter()
                .sum()
        };
        let counts = Ended::ALL
            .iter()
            .map(|outcome| (outcome.name().to_owned(), count(outcome)));
        let by_status: BTreeMap<String, u64> = counts.filter(|(_, count)| *count != 0).collect();
        Self {
            total: by_status.values().sum(),
            by_status,
        }
    }

    /// The sum of all guests.
    #[must_use]
    pub fn sum(tallies: &[Tally]) -> Self {
        let mut sum = Tally::new();
        for (status, count) in tallies.iter().flatten() {
            *sum.entry(*status).or_default() += count;
        }
        Self::new(&sum)
    }
}

/// What came of the calls of each guest.
pub(super) fn of_guests(guests: &[Guest], board: &Board<'_>) -> Vec<GuestResults> {
    let result = |((id, guest), tally): ((GuestId, &Guest), &Tally)| {
        let statistics = board.service().statistics(id);
        let classes = Class::ALL
            .iter()
            .map(|class| (class.name(), Hypercalls::of_class(&statistics, *class)));
        GuestResults {
            name: guest.name.clone(),
            grant: board.service().grants().get(id).to_string(),
            hypercalls: Hypercalls::new(tally),
            by_class: classes.filter(|(_, calls)| calls.total != 0).collect(),
        }
    };
    let ids = (0..).map_while(GuestId::new);
    let tallies = board.tallies();
    ids.zip(guests).zip(&tallies).map(result).collect()
}

/// The counters of a PMU or strand beside the truth.
pub(super) fn counters(pair: &Pair, truth: &Truth, perf_config: PerfConfig) -> Vec<CounterResult> {
    let result = |(counter, event): &(Counter, &'static str)| {
        let register = pair.place.register(*counter);
        CounterResult {
            perfreg: register.map(|register| register.id()),
            counter: counter.index(),
            strand: match pair.place {
                Place::Pic(strand) => Some(strand.index()),
                Place::Pmu(_) => None,
            },
            name: register.map_or("%pic", |register| register.name()),
            event,
            measured: pair.totals[counter.index()],
            truth: happened(pair.place, event, truth, perf_config),
        }
    };
    pair.events.iter().map(result).collect()
}

/// What the counter should show, by the name of its event.
fn happened(place: Place, event: &str, truth: &Truth, perf_config: PerfConfig) -> u64 {
    let port_node = |port: usize| Node::new(port);
    let count = match place {
        Place::Pic(strand) => SparcEvent::from_name(event)
            .map(|event| truth.strand(strand, event.into(), perf_config)),
        Place::Pmu(Pmu::Dram(dram)) => {
            DramEvent::from_name(event).map(|event| truth.dram(dram.node, dram.mcu, event))
        }
        Place::Pmu(Pmu::Lpu(lpu)) => LpuEvent::from_name(event)
            .zip(port_node(lpu.port.index()))
            .map(|(event, port)| truth.lpu(lpu.hub, port, event)),
        Place::Pmu(Pmu::Gpd(gpd)) => {
            GpdEvent::from_name(event).map(|event| truth.gpd(gpd.hub, event))
        }
        Place::Pmu(Pmu::Asu(asu)) => {
            AsuEvent::from_name(event).map(|event| truth.asu(asu.hub, event))
        }
    };
    count.unwrap_or(0)
}
