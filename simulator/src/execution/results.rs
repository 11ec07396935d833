//! What happened, for a report.

use std::collections::BTreeMap;

use guest_abi::layout::PerfConfig;
use guest_abi::{Counter, Hub, Mcu, Node, StrandId};
use platform::Machine;
use serde::Serialize;

use super::Execution;
use super::mailbox::GuestState;
use super::operator::StepMade;
use crate::guests::Guest;
use crate::memory::{Served, Truth, Usage};
use crate::simulation::{Choice, Hypercalls, Selection, Time};

/// What happened on a machine until now.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// The name of the machine's family.
    pub machine: &'static str,
    /// The number of its nodes.
    pub nodes: usize,
    /// How long it has run.
    pub time: Time,
    /// The strands that have executed something.
    pub strands: Vec<StrandResults>,
    /// The events that were asked for, by class. None without a memory system.
    pub events: Vec<EventResults>,
    /// How channels, hubs and links were used, if there is a memory system.
    #[serde(flatten)]
    pub usage: Option<Usage>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// The guests.
    pub guests: Vec<GuestResults>,
    /// How many things software did that are not simulated in full.
    pub noted: usize,
    /// The steps of the [operator](super::operator::Operator), if the machine has one: empty until who runs it puts them here.
    pub steps: Vec<StepMade>,
}

/// What a strand did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StrandResults {
    /// Its number.
    pub strand: usize,
    /// Instructions of guests, and of the hypervisor.
    pub instructions: ByWhom,
    /// Cycles of guests, and of the hypervisor: not those in which the strand was parked or halted.
    pub cycles: ByWhom,
    /// The traps that it took, interrupts among them.
    pub traps: u64,
    /// Where its requests to the L2 cache were served.
    pub served: Served,
}

/// A number by who executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByWhom {
    /// A guest, privileged or not.
    pub guest: u64,
    /// The hypervisor.
    pub hypervisor: u64,
}

impl ByWhom {
    fn new([user, privileged, hypervisor]: [u64; 3]) -> Self {
        Self {
            guest: user + privileged,
            hypervisor,
        }
    }

    /// Returns the sum.
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.guest + self.hypervisor
    }
}

/// How often an event happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventResults {
    /// The class of units that count it.
    pub class: &'static str,
    /// Its name.
    pub event: &'static str,
    /// Whether the numbers are those of hubs; else they are those of nodes.
    pub by_hub: bool,
    /// How often it happened, by number of the node or hub.
    pub by_place: Vec<u64>,
}

impl EventResults {
    /// Returns how often it happened.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_place.iter().sum()
    }
}

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GuestResults {
    /// Its number.
    pub guest: usize,
    /// Its name.
    pub name: String,
    /// Its strands.
    pub strands: Vec<usize>,
    /// Its program, and what its console shows: empty until who runs the machine puts them here.
    pub program: String,
    #[allow(missing_docs, reason = "as above")]
    pub console: String,
    /// What has become of it.
    pub state: GuestState,
    /// Its hypercalls.
    pub hypercalls: Hypercalls,
}

impl Execution {
    /// Returns what happened until now: of the events that units can count, those of `selection`; and what became of these guests.
    #[must_use]
    pub fn results(&mut self, selection: &Selection, guests: &[Guest]) -> Results {
        let machine = self.machine();
        let tally = |of_guest: &dyn Fn(StrandId) -> bool| {
            let mut tally = BTreeMap::new();
            for ((strand, status), count) in self.hypercalls() {
                if of_guest(*strand) {
                    *tally.entry(*status).or_default() += count;
                }
            }
            Hypercalls::new(&tally)
        };
        let hypercalls = tally(&|_| true);
        let by_guest = guests.iter().map(|guest| GuestResults {
            guest: 0,
            name: guest.name.clone(),
            strands: guest.config.strands.iter().map(StrandId::index).collect(),
            program: String::new(),
            console: String::new(),
            state: GuestState::Absent,
            hypercalls: tally(&|strand| guest.config.strands.has(strand)),
        });
        let mut by_guest: Vec<_> = by_guest.collect();
        for (number, guest) in by_guest.iter_mut().enumerate() {
            (guest.guest, guest.state) = (number, self.guest(number));
        }
        Results {
            guests: by_guest,
            machine: machine.model().name(),
            nodes: machine.nodes(),
            time: Time::new(self.now()),
            strands: self.strand_results(machine),
            events: self
                .truth()
                .map(|truth| events(machine, truth, selection))
                .unwrap_or_default(),
            usage: self.usage(),
            hypercalls,
            noted: self.log().entries().len(),
            steps: Vec::new(),
        }
    }

    fn strand_results(&self, machine: Machine) -> Vec<StrandResults> {
        let strands = (0..machine.strands()).filter_map(StrandId::new);
        let results = strands.map(|strand| {
            let counts = self.counts(strand);
            StrandResults {
                strand: strand.index(),
                instructions: ByWhom::new(counts.instructions),
                cycles: ByWhom::new(counts.cycles),
                traps: counts.traps,
                served: self
                    .truth()
                    .map(|truth| truth.waited(strand).served)
                    .unwrap_or_default(),
            }
        });
        results.filter(|results| results.cycles.sum() > 0).collect()
    }
}

/// Returns how often the events of a selection happened.
fn events(machine: Machine, truth: &Truth, selection: &Selection) -> Vec<EventResults> {
    let nodes = &Node::ALL[..machine.nodes()];
    let channels = |node: &Node| {
        Mcu::ALL
            .iter()
            .filter(|mcu| machine.has_channel(*node, **mcu))
            .copied()
            .collect::<Vec<_>>()
    };
    let strands = |node: &Node| {
        let first = node.index() * StrandId::PER_NODE;
        (first..first + StrandId::PER_NODE).filter_map(StrandId::new)
    };
    let mut all = Vec::new();
    all.extend(of(selection.dram, |event| {
        let at = |node: &Node| {
            channels(node)
                .into_iter()
                .map(|mcu| truth.dram(*node, mcu, event))
                .sum()
        };
        ("dram", event.name(), false, nodes.iter().map(at).collect())
    }));
    all.extend(of(selection.lpu, |event| {
        let at = |node: &Node| {
            Hub::ALL
                .iter()
                .map(|hub| truth.lpu(*hub, *node, event))
                .sum()
        };
        ("lpu", event.name(), false, nodes.iter().map(at).collect())
    }));
    all.extend(of(selection.gpd, |event| {
        let at = |hub: &Hub| truth.gpd(*hub, event);
        ("gpd", event.name(), true, Hub::ALL.iter().map(at).collect())
    }));
    all.extend(of(selection.asu, |event| {
        let at = |hub: &Hub| truth.asu(*hub, event);
        ("asu", event.name(), true, Hub::ALL.iter().map(at).collect())
    }));
    all.extend(of(selection.pic, |event| {
        let at = |node: &Node| {
            strands(node)
                .map(|strand| truth.strand(strand, event.into(), PerfConfig::All))
                .sum()
        };
        ("pic", event.name(), false, nodes.iter().map(at).collect())
    }));
    all
}

/// Returns the results of the events of one class.
fn of<E: Copy>(
    choice: Option<Choice<E>>,
    happened: impl Fn(E) -> (&'static str, &'static str, bool, Vec<u64>),
) -> Vec<EventResults> {
    let Some(choice) = choice else {
        return Vec::new();
    };
    let results = |counter: &Counter| {
        let (class, event, by_hub, by_place) = happened(choice.event(*counter));
        EventResults {
            class,
            event,
            by_hub,
            by_place,
        }
    };
    choice.counters().iter().map(results).collect()
}
