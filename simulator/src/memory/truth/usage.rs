//! Computes how much channels, hubs and links are used, and what limits their use.

use guest_abi::{Hub, Mcu, Node};
use serde::{Deserialize, Serialize};

use super::Truth;
use crate::machine::clock::HZ;
use crate::memory::figures::Figures;

/// The traffic between nodes, and the use of channels, hubs and links.
///
/// A unit's limit is the rate at which lines pass if they follow one another without gaps. It depends on the
/// [times](crate::memory::timing) and the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The lines that moved between nodes and within nodes, by source, destination and kind. Entries without lines are omitted.
    pub traffic: Vec<Traffic>,
    /// The use of each of the machine's DRAM channels.
    pub channels: Vec<ChannelUse>,
    /// The use of each of the machine's hubs.
    pub hubs: Vec<HubUse>,
    /// The use of each node's links; empty if the machine has one node and no hubs.
    pub links: Vec<LinkUse>,
}

/// Lines that moved from one node to another, or between a node's memory and that node's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The number of the source node, 0 to 3.
    pub from: usize,
    /// The number of the destination node, 0 to 3.
    pub to: usize,
    /// Why the lines moved.
    pub kind: TrafficKind,
    /// The number of lines or of invalidated copies.
    pub lines: u64,
}

/// Why lines move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrafficKind {
    /// Lines from a node's memory, for a node that misses them.
    Memory,
    /// Lines from a node's L2 cache, for a node that misses them.
    C2c,
    /// Lines that a node writes back to memory.
    WriteBack,
    /// Invalidations, from a node that writes to lines to a node that holds copies.
    Invalidate,
}

/// What a DRAM channel read and wrote, and how long it was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelUse {
    /// The node's number, 0 to 3.
    pub node: usize,
    /// The channel's number in the node, 0 or 1.
    pub mcu: usize,
    /// The number of lines that the channel read.
    pub reads: u64,
    /// The number of lines that the channel wrote.
    pub writes: u64,
    /// The number of cycles for which the channel was busy.
    pub busy: u64,
    /// The total number of cycles that lines waited for the channel.
    pub waited: u64,
    /// The maximum rate if the channel only reads, in bytes per second. (Writes take longer.)
    pub limit: u64,
}

impl ChannelUse {
    /// Returns the number of lines read and written.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.reads + self.writes
    }
}

/// The requests that a hub served, and how long it was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubUse {
    /// The hub's number, 0 to 3.
    pub hub: usize,
    /// The number of requests for lines, invalidations and lines written back.
    pub requests: u64,
    /// The number of cycles for which serialization kept the hub busy.
    pub busy: u64,
    /// The number of requests that waited for another request for the same line.
    pub met: u64,
    /// The total number of cycles that requests waited for other requests and for the hub.
    pub waited: u64,
}

/// The use of a node's link to a hub. A directly linked node has four links, numbered by `hub`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkUse {
    /// The hub's number, 0 to 3.
    pub hub: usize,
    /// The node's number, 0 to 3.
    pub node: usize,
    /// The number of lines that entered the node.
    #[serde(rename = "in")]
    pub into: u64,
    /// The number of lines that left the node.
    pub out: u64,
    /// The number of cycles for which the link was busy, summed over both directions.
    pub busy: u64,
    /// The maximum rate of each direction, in bytes per second.
    pub limit: u64,
}

impl LinkUse {
    /// Returns the number of lines in both directions.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.into + self.out
    }
}

/// Returns the maximum rate, in bytes per second, of a unit that each line keeps busy for `cycles` cycles.
const fn limit(figures: &Figures, cycles: u64) -> u64 {
    (HZ << figures.l2.line_shift) / cycles
}

impl Usage {
    pub(in crate::memory) fn new(truth: &Truth, figures: &Figures) -> Self {
        let machine = truth.units.machine;
        let nodes = || (0..machine.nodes()).filter_map(Node::new);
        // A directly linked node has four links, as many as the largest machine has hubs.
        let links = match machine.hubs() {
            [] if machine.nodes() == 1 => &[],
            [] => Hub::ALL,
            hubs => hubs,
        };
        let links = links
            .iter()
            .flat_map(|hub| nodes().map(|node| truth.link(hub.index(), node.index(), figures)));
        let hubs = machine.hubs().iter().map(|hub| truth.hub(hub.index(), figures));
        let channels = machine.channels().map(|(node, mcu)| truth.channel(node, mcu, figures));
        let pairs = nodes().flat_map(|from| nodes().map(move |to| (from.index(), to.index())));
        Self {
            traffic: pairs.flat_map(|(from, to)| truth.traffic(from, to)).collect(),
            channels: channels.collect(),
            hubs: hubs.collect(),
            links: links.collect(),
        }
    }
}

impl Truth {
    /// Returns, for each hub, the number of lines of each kind that moved between two nodes; see [`super::HubRecord::between`].
    fn between(&self, from: usize, to: usize) -> impl Iterator<Item = [u64; 4]> {
        self.units.hubs.iter().map(move |hub| hub.between(from, to))
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
            // The channels' remaining lines move between the node's memory and its own cache, without a hub.
            let others = (0..self.units.channels.len()).filter(|other| *other != from);
            let (mut read, mut written) = (0, 0);
            for [memory, ..] in others.clone().flat_map(|other| self.between(from, other)) {
                read += memory;
            }
            for [_, _, back, _] in others.flat_map(|other| self.between(other, from)) {
                written += back;
            }
            let all = |part: fn(&super::units::ChannelRecord) -> u64| -> u64 {
                self.units.channels[from].iter().map(part).sum()
            };
            lines[0] = all(|channel| channel.lines_read) - read;
            lines[2] = all(|channel| channel.lines_written) - written;
        }
        let traffic = KINDS.into_iter().zip(lines).map(move |(kind, lines)| Traffic {
            from,
            to,
            kind,
            lines,
        });
        traffic.filter(|traffic| traffic.lines > 0)
    }

    fn channel(&self, node: Node, mcu: Mcu, figures: &Figures) -> ChannelUse {
        let channel = &self.units.channels[node.index()][mcu.index()];
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
        let record = &self.units.hubs[hub];
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
        let record = &self.units.hubs[hub];
        let [into, out] = record.moved(node);
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
