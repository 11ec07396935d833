//! The outcome of a simulation: what the guest measured beside what happened.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::layout::PerfConfig;
use guest_abi::{Counter, Node, Pmu};
use hv_core::GuestId;
use perfctr_service::statistics::{Class, Operation, Outcome as Ended, Statistics};
use serde::Serialize;

use super::measure::{Pair, Place};
use super::totals::class;
use crate::configuration::Configuration;
use crate::details::{CounterName, Details};
use crate::events::Trace;
use crate::guests::Guest;
use crate::machine::board::{Board, Tally};
use crate::machine::clock::HZ;
pub use crate::memory::Served;
use crate::memory::{Truth, Usage};
use crate::nearest::status_name;

/// The outcome of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The name of the machine's family.
    pub machine: &'static str,
    /// The number of its nodes.
    pub nodes: usize,
    /// The configuration of the machine.
    pub configuration: Configuration,
    /// The number of references.
    pub references: u64,
    /// The cycles that the references took: until the last thread ended.
    pub cycles: u64,
    /// The same in seconds, and the clock.
    pub time: Time,
    /// Which strand executed which thread.
    pub placement: String,
    /// What each thread did.
    pub threads: Vec<ThreadResults>,
    /// How channels, hubs and links were used.
    #[serde(flatten)]
    pub usage: Usage,
    /// What somebody who reads the results should know: whole sentences without a full stop.
    pub notes: Vec<String>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// The hypercalls of each guest.
    pub guests: Vec<GuestResults>,
    /// The counters that have an event.
    pub counters: Vec<CounterResult>,
    /// Whether every counter shows what happened.
    pub truth_matches: bool,
    /// Details, if the [setup](super::Setup::details) asks for them.
    pub details: Option<Details>,
    /// The hypervisor's events, if the [setup](super::Setup::tracing) asks for them.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

/// How long a program took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Time {
    /// Cycles a second.
    pub hertz: u64,
    /// The cycles, as [`Outcome::cycles`].
    pub cycles: u64,
    /// The seconds.
    pub seconds: f64,
}

impl Time {
    pub(crate) fn new(cycles: u64) -> Self {
        Self {
            hertz: HZ,
            cycles,
            seconds: cycles as f64 / HZ as f64,
        }
    }
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadResults {
    /// The number of the thread, from 0. Those of all programs have numbers of their own. References that are dealt are one
    /// thread on several strands.
    pub thread: usize,
    /// Its strand.
    pub strand: usize,
    /// The number of its instructions.
    pub instructions: u64,
    /// The cycles for which it executed, or waited for its pipeline or for memory: not those for which it waited for other
    /// threads.
    pub cycles: u64,
    /// Where its requests were served.
    pub served: Served,
    /// What it did in these cycles.
    pub stack: Stack,
}

/// What a thread did or waited for, in cycles: the sum is [`ThreadResults::cycles`].
///
/// A request to the L2 cache is waited for from when it leaves the core until its data arrive, with its time in all queues. That
/// time is of the kind that [served](Served) the request. Stores are not waited for, unless eight are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// It issued instructions, loaded from its L1 cache, or jumped: what the instructions take if nothing is waited for.
    pub busy: u64,
    /// It waited for the L2 cache of its node: for its bank, and for the line.
    pub l2: u64,
    /// It waited for the memory of its node.
    pub local: u64,
    /// It waited for the memory of another node.
    pub remote: u64,
    /// It waited for the L2 cache of another node.
    pub c2c: u64,
    /// It waited for a line that was on its way to the L2 cache already, for another strand or a store.
    pub arriving: u64,
    /// It waited for room among its stores.
    pub stores: u64,
    /// It waited for the store of an atomic instruction, and for those before it.
    pub atomics: u64,
    /// It waited for the pipeline, which other strands used.
    pub pipeline: u64,
}

impl Stack {
    /// Returns all cycles.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        let requests = self.l2 + self.local + self.remote + self.c2c + self.arriving;
        self.busy + requests + self.stores + self.atomics + self.pipeline
    }
}

impl AddAssign for Stack {
    fn add_assign(&mut self, other: Self) {
        self.busy += other.busy;
        self.l2 += other.l2;
        self.local += other.local;
        self.remote += other.remote;
        self.c2c += other.c2c;
        self.arriving += other.arriving;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.pipeline += other.pipeline;
    }
}

/// Hypercalls by status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hypercalls {
    /// The number of all.
    pub total: u64,
    /// The numbers by name of the status.
    pub by_status: BTreeMap<String, u64>,
}

/// A guest's hypercalls.
#[derive(Clone, Debug, Serialize)]
pub struct GuestResults {
    /// Its name.
    pub name: String,
    /// Its grant.
    pub grant: String,
    /// Its hypercalls.
    pub hypercalls: Hypercalls,
    /// Those for registers by class of register, as the service's own statistics count them.
    pub by_class: BTreeMap<&'static str, Hypercalls>,
}

/// One counter over the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterResult {
    /// The number of the register that holds the counter; `None` for %pic.
    pub perfreg: Option<u64>,
    /// 0 or 1.
    pub counter: usize,
    /// The strand, for %pic.
    pub strand: Option<usize>,
    /// The name of the register.
    pub name: &'static str,
    /// The name of the event.
    pub event: &'static str,
    /// The count that the guest read.
    pub measured: u64,
    /// The count of what happened.
    pub truth: u64,
}

impl Hypercalls {
    /// Returns a tally by name of the status.
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

    /// Returns the gets and sets of one class of registers.
    fn of_class(statistics: &Statistics, class: Class) -> Self {
        let count = |outcome: &Ended| {
            statistics.count(Operation::Get, class, *outcome)
                + statistics.count(Operation::Set, class, *outcome)
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

    /// Returns the sum of all guests.
    #[must_use]
    pub fn sum(tallies: &[Tally]) -> Self {
        let mut sum = Tally::new();
        for (status, count) in tallies.iter().flatten() {
            *sum.entry(*status).or_default() += count;
        }
        Self::new(&sum)
    }
}

/// Returns the calls of each guest.
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

/// Returns the counters of a PMU or strand beside the truth.
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

/// Returns what the counters of a PMU or strand are called.
pub(super) fn names(pair: &Pair) -> impl Iterator<Item = CounterName> {
    let (node, hub, strand) = match pair.place {
        Place::Pmu(Pmu::Dram(dram)) => (Some(dram.node.index()), None, None),
        Place::Pmu(Pmu::Lpu(lpu)) => (None, Some(lpu.hub), None),
        Place::Pmu(Pmu::Gpd(gpd)) => (None, Some(gpd.hub), None),
        Place::Pmu(Pmu::Asu(asu)) => (None, Some(asu.hub), None),
        Place::Pic(strand) => (Some(strand.node().index()), None, Some(strand.index())),
    };
    let class = class(match pair.place {
        Place::Pmu(pmu) => Some(pmu),
        Place::Pic(_) => None,
    });
    pair.events.iter().map(move |(counter, event)| CounterName {
        class,
        unit: match pair.place {
            Place::Pmu(pmu) => pmu.to_string(),
            Place::Pic(strand) => format!("strand {strand}"),
        },
        name: (pair.place.register(*counter)).map_or("%pic", |register| register.name()),
        counter: counter.index(),
        event,
        node,
        hub: hub.map(|hub| hub.index()),
        strand,
    })
}

/// Returns the truth about a counter, by the name of its event.
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
