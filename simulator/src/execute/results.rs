//! Collects what an execution has done so far: the selected events, and the state of guests and strands.

use std::collections::BTreeMap;

use guest_abi::layout::PerfConfig;
use guest_abi::{Hub, Node, StrandId};
use hv_core::GuestId;
use platform::Machine;

use super::Execution;
use crate::machine::guests::NamedGuest;
use crate::memory::Truth;
use crate::replay::{Choice, Selection};
use crate::run::{
    BySoftware, ClockChange, ClockRun, EventCounts, Executed, GuestRun, Hypercalls, HypervisorRun,
    StrandRun, Time,
};

/// The number of equal intervals into which a run is divided. The result gives each changed clock's deviation at the intervals'
/// boundaries.
const MOMENTS: u128 = 200;

impl Execution {
    /// Returns the run so far: the selected events, and the state of the guests.
    #[must_use]
    pub fn executed(&mut self, selection: &Selection, guests: &[NamedGuest]) -> Executed {
        let machine = self.machine();
        let states: Vec<_> = (0..guests.len()).map(|number| self.guest(number)).collect();
        let tally = |of_guest: &dyn Fn(StrandId) -> bool| {
            let mut tally = BTreeMap::new();
            for ((strand, status), count) in self.hypercalls() {
                if of_guest(*strand) {
                    *tally.entry(*status).or_default() += count;
                }
            }
            Hypercalls::new(&tally)
        };
        let by_guest = (0..).map_while(GuestId::new).zip(guests.iter().zip(states)).map(
            |(number, (guest, state))| GuestRun {
                guest: number,
                name: guest.name.clone(),
                strands: guest.config.strands.iter().collect(),
                program: String::new(),
                console: String::new(),
                state,
                hypercalls: tally(&|strand| guest.config.strands.contains(strand)),
            },
        );
        Executed {
            guests: by_guest.collect(),
            machine: machine.model().name().into(),
            nodes: machine.nodes(),
            time: Time::new(self.now()),
            strands: self.strand_results(machine),
            events: self.truth().map(|truth| events(machine, truth, selection)).unwrap_or_default(),
            usage: self.usage(),
            hypercalls: tally(&|_| true),
            noted: self.log().entries().len(),
            steps: Vec::new(),
            clocks: self.clocks(),
            failures: self.failures().0,
            hypervisor: HypervisorRun { console: String::new(), left_out: self.omitted_messages() },
        }
    }

    fn clocks(&self) -> Vec<ClockRun> {
        let (changes, end) = (&self.running.shared.clock_changes, u128::from(self.now()));
        let runs = changes.clocks().into_iter().map(|clock| {
            let times = (0..=MOMENTS).map(|moment| (end * moment / MOMENTS) as u64);
            let all = changes.of(clock);
            ClockRun {
                clock: clock.to_string(),
                changes: all.map(|(at, what)| ClockChange { at, what: what.to_string() }).collect(),
                ahead: changes.ahead(clock, times),
            }
        });
        runs.collect()
    }

    fn strand_results(&self, machine: Machine) -> Vec<StrandRun> {
        let strands = (0..machine.strands()).filter_map(StrandId::new);
        let results = strands.map(|strand| {
            let counts = self.counts(strand);
            StrandRun {
                strand,
                instructions: BySoftware::new(counts.instructions),
                cycles: BySoftware::new(counts.cycles),
                traps: counts.traps,
                served: self.truth().map(|truth| truth.waited(strand).served).unwrap_or_default(),
            }
        });
        results.filter(|results| results.cycles.sum() > 0).collect()
    }
}

/// Counts each selected event. The result is grouped by class.
fn events(machine: Machine, truth: &Truth, selection: &Selection) -> Vec<EventCounts> {
    let nodes = &Node::ALL[..machine.nodes()];
    let channels = |on: Node| machine.channels().filter(move |(node, _)| *node == on);
    let strands = |node: Node| {
        let first = node.index() * StrandId::PER_NODE;
        (first..first + StrandId::PER_NODE).filter_map(StrandId::new)
    };
    let mut all = Vec::new();
    all.extend(event_counts(selection.dram, |event| {
        let at =
            |node: &Node| channels(*node).map(|(node, mcu)| truth.dram(node, mcu, event)).sum();
        ("dram", event.name(), false, nodes.iter().map(at).collect())
    }));
    all.extend(event_counts(selection.lpu, |event| {
        let at = |node: &Node| machine.hubs().iter().map(|hub| truth.lpu(*hub, *node, event)).sum();
        ("lpu", event.name(), false, nodes.iter().map(at).collect())
    }));
    all.extend(event_counts(selection.gpd, |event| {
        let at = |hub: &Hub| truth.gpd(*hub, event);
        ("gpd", event.name(), true, machine.hubs().iter().map(at).collect())
    }));
    all.extend(event_counts(selection.asu, |event| {
        let at = |hub: &Hub| truth.asu(*hub, event);
        ("asu", event.name(), true, machine.hubs().iter().map(at).collect())
    }));
    all.extend(event_counts(selection.pic, |event| {
        let of_strand = |strand| truth.strand(strand, event.into(), PerfConfig::All);
        let at = |node: &Node| strands(*node).map(of_strand).sum();
        ("pic", event.name(), false, nodes.iter().map(at).collect())
    }));
    all
}

/// Returns the counts of the selected events of one class. `count` returns an event's class and name, whether hubs (`true`) or
/// nodes (`false`) count it, and the count of each hub or node.
fn event_counts<E: Copy>(
    choice: Option<Choice<E>>,
    count: impl Fn(E) -> (&'static str, &'static str, bool, Vec<u64>),
) -> Vec<EventCounts> {
    let events = choice.iter().flat_map(Choice::events);
    let counts = events.map(|event| {
        let (class, event, by_hub, by_place) = count(event);
        EventCounts { class: class.into(), event: event.into(), by_hub, by_place }
    });
    counts.collect()
}
