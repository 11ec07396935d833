//! What guests did, and what happened in the machine meanwhile.

use std::collections::BTreeMap;

use guest_abi::layout::PerfConfig;
use guest_abi::{Counter, Hub, Mcu, Node, StrandId};
use platform::Machine;

use super::Execution;
use super::mailbox::GuestState;
use crate::machine::guests::NamedGuest;
use crate::memory::Truth;
use crate::replay::{Choice, Selection};
use crate::run::{ByWhom, EventCounts, Executed, GuestRun, Hypercalls, StrandRun, Time};

impl Execution {
    /// Returns what happened until now: of the events that units can count, those of `selection`; and what became of these guests.
    #[must_use]
    pub fn results(&mut self, selection: &Selection, guests: &[NamedGuest]) -> Executed {
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
        let by_guest = guests.iter().map(|guest| GuestRun {
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
        Executed {
            guests: by_guest,
            machine: machine.model().name().into(),
            nodes: machine.nodes(),
            time: Time::new(self.now()),
            strands: self.strand_results(machine),
            events: self.truth().map(|truth| events(machine, truth, selection)).unwrap_or_default(),
            usage: self.usage(),
            hypercalls,
            noted: self.log().entries().len(),
            steps: Vec::new(),
        }
    }

    fn strand_results(&self, machine: Machine) -> Vec<StrandRun> {
        let strands = (0..machine.strands()).filter_map(StrandId::new);
        let results = strands.map(|strand| {
            let counts = self.counts(strand);
            StrandRun {
                strand: strand.index(),
                instructions: ByWhom::new(counts.instructions),
                cycles: ByWhom::new(counts.cycles),
                traps: counts.traps,
                served: self.truth().map(|truth| truth.waited(strand).served).unwrap_or_default(),
            }
        });
        results.filter(|results| results.cycles.sum() > 0).collect()
    }
}

/// Returns how often the events of a selection happened.
fn events(machine: Machine, truth: &Truth, selection: &Selection) -> Vec<EventCounts> {
    let nodes = &Node::ALL[..machine.nodes()];
    let channels = |node: &Node| {
        Mcu::ALL.iter().filter(|mcu| machine.has_channel(*node, **mcu)).copied().collect::<Vec<_>>()
    };
    let strands = |node: &Node| {
        let first = node.index() * StrandId::PER_NODE;
        (first..first + StrandId::PER_NODE).filter_map(StrandId::new)
    };
    let mut all = Vec::new();
    all.extend(of(selection.dram, |event| {
        let at =
            |node: &Node| channels(node).into_iter().map(|mcu| truth.dram(*node, mcu, event)).sum();
        ("dram", event.name(), false, nodes.iter().map(at).collect())
    }));
    all.extend(of(selection.lpu, |event| {
        let at = |node: &Node| Hub::ALL.iter().map(|hub| truth.lpu(*hub, *node, event)).sum();
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
            strands(node).map(|strand| truth.strand(strand, event.into(), PerfConfig::All)).sum()
        };
        ("pic", event.name(), false, nodes.iter().map(at).collect())
    }));
    all
}

/// Returns the results of the events of one class.
fn of<E: Copy>(
    choice: Option<Choice<E>>,
    happened: impl Fn(E) -> (&'static str, &'static str, bool, Vec<u64>),
) -> Vec<EventCounts> {
    let Some(choice) = choice else {
        return Vec::new();
    };
    let results = |counter: &Counter| {
        let (class, event, by_hub, by_place) = happened(choice.event(*counter));
        EventCounts { class: class.into(), event: event.into(), by_hub, by_place }
    };
    choice.counters().iter().map(results).collect()
}
