//! Tests the traffic between nodes, and the load on channels, hubs and links. The expected numbers are computed by hand.

use std::fmt::Write;

use platform::{Machine, Model};
use simulator::memory::TrafficKind::{C2c, Invalidate, Memory, WriteBack};
use simulator::memory::{HubUse, LinkUse, TrafficKind, Usage};
use simulator::recording::{Chunk, Kind, Recording, Reference};
use simulator::replay::Setup;

use crate::{recording, run};

fn measure(model: Model, nodes: usize, program: Recording) -> Usage {
    let machine = Machine::new(model, nodes).unwrap();
    run(Setup::new(machine, program)).unwrap().usage
}

fn by_hand(model: Model, nodes: usize, text: String) -> Usage {
    measure(model, nodes, recording(text))
}

fn traffic(usage: &Usage) -> Vec<(usize, usize, TrafficKind, u64)> {
    let traffic = usage.traffic.iter();
    traffic.map(|one| (one.from, one.to, one.kind, one.lines)).collect()
}

/// The maximum rate of a channel, in bytes per second: 1.165379275 GHz times 64 bytes, divided by the cycles that a line takes.
const CHANNEL_LIMIT: u64 = 10_654_896_228;
const LINK_LIMIT: u64 = 8_287_141_511;

/// Returns a program in which strand 64 (on node 1) reads 40 pieces of eight lines each from node 0's memory.
fn buffer() -> String {
    let mut text = String::new();
    for line in 0..320 {
        // The home node changes every 512 bytes of memory.
        let _ = writeln!(text, "64 r {:x}", line / 8 * 2048 + line % 8 * 64);
    }
    text
}

#[test]
fn a_buffer_on_another_node() {
    let usage = by_hand(Model::Batoka, 4, buffer());
    assert_eq!(traffic(&usage), [(0, 1, Memory, 320)]);
    for channel in &usage.channels {
        // Each channel of node 0 serves half of every piece. There is no other traffic.
        let reads = if channel.node == 0 { 160 } else { 0 };
        assert_eq!((channel.reads, channel.writes), (reads, 0));
        assert_eq!((channel.busy, channel.waited), (7 * reads, 0));
        assert_eq!(channel.limit, CHANNEL_LIMIT);
    }
    assert_eq!((usage.channels.len(), usage.links.len()), (8, 16));
    let hub = |hub| HubUse { hub, requests: 80, busy: 160, met: 0, waited: 0 };
    assert_eq!(usage.hubs, [0, 1, 2, 3].map(hub));
    for LinkUse { hub, node, into, out, busy, limit } in usage.links {
        let expected = match node {
            0 => (0, 80, 720),
            1 => (80, 0, 720),
            _ => (0, 0, 0),
        };
        assert_eq!((into, out, busy), expected, "hub {hub}, node {node}");
        assert_eq!(limit, LINK_LIMIT);
    }
}

#[test]
fn a_line_that_nodes_take_from_each_other() {
    // Line 0x40 is in node 0's memory. Node 1 takes it from node 0's cache, which loses it. Nodes 2 and 3 read the line. Then node 0 writes
    // to it, and all other nodes lose it.
    let text = "0 w 1000\n64 w 1000\n128 r 1000\n192 r 1000\n0 w 1000\n";
    let usage = by_hand(Model::Batoka, 4, text.to_owned());
    assert_eq!(
        traffic(&usage),
        [
            (0, 0, Memory, 1),
            (0, 1, C2c, 1),
            (0, 1, Invalidate, 1),
            (0, 2, Invalidate, 1),
            (0, 3, Invalidate, 1),
            (1, 0, C2c, 1),
            (1, 0, Invalidate, 1),
            (1, 2, C2c, 1),
            (1, 3, C2c, 1),
        ]
    );
}

#[test]
fn a_line_that_is_written_back() {
    // All 17 lines have node 2 as their home. In an L2 cache, they share a set, which has 16 ways.
    let written = |strand: usize| {
        let lines = (0..17).map(|n| format!("{strand} w {:x}\n", 0x480 + n * 0x4_0000));
        by_hand(Model::Batoka, 4, lines.collect())
    };
    let other = written(0);
    assert_eq!(traffic(&other), [(0, 2, WriteBack, 1), (2, 0, Memory, 17)]);
    assert_eq!(traffic(&written(128)), [(2, 2, Memory, 17), (2, 2, WriteBack, 1)]);
    // The lines are on node 2's channel 0. Hub 1 carries 17 requests and one line that is written back.
    let channel = other.channels[4];
    assert_eq!((channel.reads, channel.writes), (17, 1));
    assert_eq!(channel.busy, 17 * 7 + 14);
    assert_eq!(other.hubs[1].requests, 18);
    let link = |node: usize| other.links[4 + node];
    assert_eq!((link(0).into, link(0).out), (17, 1));
    assert_eq!((link(2).into, link(2).out), (1, 17));
}

#[test]
fn machines_without_hubs() {
    let usage = by_hand(Model::Maramba, 2, buffer().replace("64 r", "64 w"));
    // With two nodes, every second piece is in node 1's memory.
    assert_eq!(traffic(&usage), [(0, 1, Memory, 320)]);
    assert_eq!(usage.hubs, []);
    assert_eq!((usage.channels.len(), usage.links.len()), (4, 8));
    let usage = by_hand(Model::Maramba, 1, buffer().replace("64 r", "0 r"));
    assert_eq!(traffic(&usage), [(0, 0, Memory, 320)]);
    assert_eq!(usage.links, []);
}

/// Threads on nodes 0 and 1 load one line each, at the same time.
#[test]
fn what_is_waited_for_at_hubs_and_channels() {
    let usage = |lines: [u64; 2]| {
        let load = |line| vec![Chunk::new(vec![Reference::new(line, 8, Kind::Load)], Vec::new())];
        measure(Model::Batoka, 4, Recording::from_threads("two", lines.map(load).into()))
    };
    // Both threads load the same line of node 2. The second request arrives in cycle 26 and waits until cycle 293.
    let same = usage([0x480, 0x480]);
    assert_eq!((same.hubs[1].met, same.hubs[1].waited), (1, 267));
    // The two lines have the same hub and channel. The second request waits 2 cycles for the hub and 5 cycles (7 - 2) for the
    // channel.
    let other = usage([0x480, 0xc80]);
    assert_eq!((other.hubs[1].met, other.hubs[1].waited), (0, 2));
    assert_eq!(other.channels[4].waited, 5);
    assert_eq!(other.channels[4].busy, 14);
}
