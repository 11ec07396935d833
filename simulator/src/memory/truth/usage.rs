//! How channels, hubs and links were used, beside the most that they can do.

use guest_abi::{Hub, Mcu, Node};
use platform::Machine;
use serde::Serialize;

use super::Truth;
use crate::machine::clock::HZ;
use crate::memory::figures::Figures;

/// What moved between nodes, and how far the ways were used.
///
/// A limit is what the [times](crate::memory::timing) and the clock say: a line each time that its transfer takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// What went from node to node, and within nodes; nothing that did not happen. By node from which, node to which, and kind.
    pub traffic: Vec<Traffic>,
    /// The DRAM channels that the machine has.
    pub channels: Vec<ChannelUse>,
    /// The hubs that the machine has.
    pub hubs: Vec<HubUse>,
    /// The links of each node; none on a machine of one node without hubs.
    pub links: Vec<LinkUse>,
}

/// Lines that went from one node to another, or from the memory of a node to its own cache and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// The number of the node from which they went.
    pub from: usize,
    /// The number of the node to which they went.
    pub to: usize,
    /// What went.
    pub kind: TrafficKind,
    /// How many lines.
    pub lines: u64,
}

/// What goes from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrafficKind {
    /// A line from the memory of a node, to one that misses it.
    Memory,
    /// A line from the L2 cache of a node, to one that misses it.
    C2c,
    /// A line that a node writes back to the memory of another, or to its own.
    WriteBack,
    /// The order to drop a copy of a line, from the node that writes to the line to one that has the copy.
    Invalidate,
}

/// How a DRAM channel was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelUse {
    /// The number of the node.
    pub node: usize,
    /// The number of the channel in the node.
    pub mcu: usize,
    /// Lines that were read.
    pub reads: u64,
    /// Lines that were written.
    pub writes: u64,
    /// The cycles for which it was busy.
    pub busy: u64,
    /// The cycles that lines waited for it, all together.
    pub waited: u64,
    /// The most bytes a second, if all are read. (A line that is written takes longer.)
    pub limit: u64,
}

/// How a hub was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HubUse {
    /// The number of the hub.
    pub hub: usize,
    /// Requests for lines, invalidations and lines written back.
    pub requests: u64,
    /// The cycles for which it was busy with putting them in order.
    pub busy: u64,
    /// The requests that waited for another for the same line.
    pub met: u64,
    /// The cycles that requests waited, for others for the same line and for the hub, all together.
    pub waited: u64,
}

/// How the link between a node and a hub was used. Where nodes are linked directly, each has four links to the others, and
/// the number of the hub is that of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkUse {
    /// The number of the hub.
    pub hub: usize,
    /// The number of the node.
    pub node: usize,
    /// Lines that came to the node.
    #[serde(rename = "in")]
    pub into: u64,
    /// Lines that left the node.
    pub out: u64,
    /// The cycles for which both directions were busy, together.
    pub busy: u64,
    /// The most bytes a second in each direction.
    pub limit: u64,
}

/// Returns the most bytes a second of what is busy with a line for so many cycles.
const fn limit(figures: &Figures, cycles: u64) -> u64 {
    (HZ << figures.l2.line_shift) / cycles
}

impl Usage {
    pub(in crate::memory) fn new(truth: &Truth, machine: &Machine, figures: &Figures) -> Self {
        let nodes = || (0..machine.nodes()).filter_map(Node::new);
        let links = match machine.nodes() > 1 || truth.has_hubs {
            true => Hub::ALL,
            false => &[],
        };
        let links = links
            .iter()
            .flat_map(|hub| nodes().map(|node| truth.link(hub.index(), node.index(), figures)));
        let hubs = match truth.has_hubs {
            true => Hub::ALL,
            false => &[],
        };
        let channels = nodes().flat_map(|node| Mcu::ALL.iter().map(move |mcu| (node, *mcu)));
        let channels = channels.filter(|(node, mcu)| machine.has_channel(*node, *mcu));
        let pairs = nodes().flat_map(|from| nodes().map(move |to| (from.index(), to.index())));
        Self {
            traffic: pairs
                .flat_map(|(from, to)| truth.traffic(from, to))
                .collect(),
            channels: channels
                .map(|(node, mcu)| truth.channel(node, mcu, figures))
                .collect(),
            hubs: hubs
                .iter()
                .map(|hub| truth.hub(hub.index(), figures))
                .collect(),
            links: links.collect(),
        }
    }
}

impl Truth {
    /// Returns the lines from one node to another by hub and kind: see [`super::HubRecord::between`].
    fn between(&self, from: usize, to: usize) -> impl Iterator<Item = [u64; 4]> {
        self.hubs.iter().map(move |hub| hub.between(from, to))
    }

    fn traffic(&self, from: usize, to: usize) -> impl Iterator<Item = Traffic> + use<> {
        const KINDS: [TrafficKind; 4] = [
            TrafficKind::Memory,
            TrafficKind::C2c,
            TrafficKind::WriteBack,
            TrafficKind::Invalidate,
        ];
        let mut lines = [0; 4];
        for by_kind in self.between(from, to) {
            (0..4).for_each(|kind| lines[kind] += by_kind[kind]);
        }
        if from == to {
            // What the channels of a node do for no other node, they do for itself. It need not pass a hub.
            let others = (0..self.channels.len()).filter(|other| *other != from);
            let (mut read, mut written) = (0, 0);
            for [memory, ..] in others.clone().flat_map(|other| self.between(from, other)) {
                read += memory;
            }
            for [_, _, back, _] in others.flat_map(|other| self.between(other, from)) {
                written += back;
            }
            let all = |part: fn(&super::ChannelRecord) -> u64| -> u64 {
                self.channels[from].iter().map(part).sum()
            };
            lines[0] = all(|channel| channel.lines_read) - read;
            lines[2] = all(|channel| channel.lines_written) - written;
        }
        let traffic = KINDS
            .into_iter()
            .zip(lines)
            .map(move |(kind, lines)| Traffic {
                from,
                to,
                kind,
                lines,
            });
        traffic.filter(|traffic| traffic.lines > 0)
    }

    fn channel(&self, node: Node, mcu: Mcu, figures: &Figures) -> ChannelUse {
        let channel = &self.channels[node.index()][mcu.index()];
        let busy = channel.lines_read * figures.timing.channel_read
            + channel.lines_written * figures.timing.channel_write;
        ChannelUse {
            node: node.index(),
            mcu: mcu.index(),
            reads: channel.lines_read,
            writes: channel.lines_written,
            busy,
            waited: channel.cycles_to_read + channel.cycles_to_write - busy,
            limit: limit(figures, figures.timing.channel_read),
        }
    }

    fn hub(&self, hub: usize, figures: &Figures) -> HubUse {
        let record = &self.hubs[hub];
        let requests = record.packets_in();
        HubUse {
            hub,
            requests,
            busy: requests * figures.timing.serialize,
            met: record.met(),
            waited: record.waited(),
        }
    }

    fn link(&self, hub: usize, node: usize, figures: &Figures) -> LinkUse {
        let record = &self.hubs[hub];
        let (mut into, mut out) = (0, 0);
        for other in (0..self.channels.len()).filter(|other| *other != node) {
            let lines = |[memory, cache, back, _]: [u64; 4]| memory + cache + back;
            into += lines(record.between(other, node));
            out += lines(record.between(node, other));
        }
        LinkUse {
            hub,
            node,
            into,
            out,
            busy: (into + out) * figures.timing.link,
            limit: limit(figures, figures.timing.link),
        }
    }
}
