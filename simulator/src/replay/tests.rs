//! Tests that a replay notices wrong maps. The memory system and the replay use maps of addresses, nodes and threads; each test
//! makes one of them return wrong numbers. The record of the true events is made without these maps, so the replay must end with an
//! error, or report that a counter differs from the truth.

use std::ops::ControlFlow;

use guest_abi::{Mcu, Node};
use platform::{Interleave, Machine, Model};

use super::{RunError, Selection, Setup};
use crate::memory::broken::{Map, with_broken_map};
use crate::memory::{Config, Pages};
use crate::recording::{Chunk, Kind, Recording, Reference};

/// Returns a program of four threads, all of which load the same lines. Together they store to 20 lines in each of 32 sets of an L2
/// cache. A set has only 16 ways, so lines are written back.
fn program() -> Recording {
    let thread = |thread: u64| {
        let reference = |number: u64| match number % 3 {
            0 => Reference::new(0x40_0000 + number % 64 * 4, 4, Kind::FetchOther),
            1 => Reference::new(number * 7 % 64 * 0x40, 8, Kind::Load),
            _ => Reference::new(
                (number + thread) % 40 * 0x4_0000 + number % 32 * 0x40,
                8,
                Kind::Store,
            ),
        };
        vec![Chunk::new((0..3000).map(reference).collect(), Vec::new())]
    };
    Recording::from_threads("program", (0..4).map(thread).collect())
}

/// Returns what the replay reports about wrong counts; `None` if it reports no difference.
fn report(machine: Machine, events: &str) -> Option<String> {
    report_with(machine, events, Pages::Hardware)
}

fn report_with(machine: Machine, events: &str, pages: Pages) -> Option<String> {
    let selection = match events {
        "" => Selection::default_for(machine),
        events => Selection::parse(events).unwrap(),
    };
    let memory = Config { pages, ..Config::T2_PLUS };
    let setup = Setup::new(machine, program()).selection(selection).memory(memory);
    match setup.check().unwrap().run(|_| ControlFlow::Continue(())) {
        Ok(run) if run.truth_matches => None,
        Ok(_) => Some("a counter differs".to_owned()),
        Err(RunError::Stray(stray)) => Some(stray.to_string()),
        Err(error) => panic!("{error}"),
    }
}

fn machine(model: Model, nodes: usize) -> Machine {
    Machine::new(model, nodes).unwrap()
}

/// A map, a function that corrupts its results, a machine, the events that the guest counts, and a part of the replay's message.
type Breakage<'a> = (Map, fn(usize) -> usize, Machine, &'a str, &'a str);

#[test]
fn a_broken_map_is_noticed() {
    let (four, two) = (machine(Model::Batoka, 4), machine(Model::Batoka, 2));
    let linked = machine(Model::Maramba, 2);
    let without = two.without_channel(Node::Node1, Mcu::Mcu0);
    let astray = "where it does not belong";
    let lacked = "which the machine does not have";
    let differs = "a counter differs";
    let breakages: [Breakage<'_>; 22] = [
        // These maps return a wrong hub: other bits choose the hub, two hubs are exchanged, or only two of four hubs are used.
        (Map::Hub, |bits| bits >> 1, four, "", astray),
        (Map::Hub, |bits| bits ^ 1, two, "", astray),
        (Map::Hub, |bits| bits & 1, four, "", astray),
        (Map::Hub, |bits| bits >> 1, linked, "", astray),
        (Map::CountingHubs, |_| 1, linked, "", lacked),
        (Map::CountingHubs, |_| 0, four, "", differs),
        (Map::HubRegisters, |hub| hub ^ 1, four, "", differs),
        // These maps return a wrong home: other bits choose the node, the next node is chosen, or a wrong or disabled channel is
        // chosen.
        (Map::Home, |stripe| stripe >> 1, four, "", astray),
        (Map::Home, |stripe| stripe + 1, linked, "", astray),
        (Map::Channel, |bits| bits >> 1, four, "", astray),
        (Map::Channel, |bits| !bits, linked, "", astray),
        (Map::EnabledChannel, |_| 1, without, "", lacked),
        (Map::ChannelRegisters, |mcu| 1 - mcu, two, "", differs),
        // These maps return the wrong bank for a line, or the wrong link or port for a node.
        (Map::Bank, |bits| bits >> 1, four, "", astray),
        (Map::Bank, |bits| bits & 3, linked, "", astray),
        (Map::Link, |node| node ^ 1, four, "", "lines ("),
        (Map::Port, |port| port ^ 1, four, "", differs),
        // These maps return the wrong node for a strand, or the wrong strand for a thread.
        (Map::NodeOfStrand, |node| node ^ 1, two, "", astray),
        (Map::StrandRegisters, |strand| strand ^ 1, four, "", differs),
        (Map::Placement, |strand| strand ^ 8, linked, "", astray),
        // A guest's write to a PCR loses one counter's event.
        (Map::Written, |value| value & !0xf0, linked, "dram:mem_writes,dram:mem_reads", differs),
        (Map::Written, |value| value & !0xff00, four, "", differs),
    ];
    for (map, wrong, machine, events, expected) in breakages {
        assert_eq!(report(machine, events), None, "{map:?}");
        let report = with_broken_map(map, wrong, || report(machine, events)).unwrap_or_default();
        assert!(report.contains(expected), "{map:?} on {machine:?}: {report:?}");
    }
}

/// The same test with pages that an operating system places, and with a 1 GB interleave. The record of the true events has separate
/// maps for both.
#[test]
fn a_page_on_a_wrong_node_is_noticed() {
    let four = machine(Model::Batoka, 4);
    for (map, wrong, machine, pages) in [
        (Map::Page, (|page| page >> 1) as fn(usize) -> usize, four, "interleave:64K"),
        (Map::Page, |page| page + 1, four, "interleave:8K"),
        (Map::Page, |page| page >> 8, four, "first-touch"),
        (Map::NodeOfStrand, |node| node ^ 1, four, "first-touch"),
        (Map::Channel, |bits| !bits, four, "node:2"),
        (Map::Home, |stripe| stripe + 1, four.with_interleave(Interleave::Gigabyte), "hardware"),
    ] {
        let pages = pages.parse().unwrap();
        assert_eq!(report_with(machine, "", pages), None, "{pages}");
        let report =
            with_broken_map(map, wrong, || report_with(machine, "", pages)).unwrap_or_default();
        assert!(report.contains("where it does not belong"), "{map:?}, {pages}: {report:?}");
    }
}

#[test]
fn a_stray_line_is_named() {
    let report = with_broken_map(
        Map::EnabledChannel,
        |_| 1,
        || report(machine(Model::Maramba, 1).without_channel(Node::Node0, Mcu::Mcu1), ""),
    );
    let expected =
        "the simulator is wrong: line 0x7 was at NODE0_MCU1, which the machine does not have";
    assert_eq!(report.as_deref(), Some(expected));
}
