//! Charts of how busy the machine's parts are, and of the traffic from node to node.

use crate::numbers::{counted, percent};
use crate::page::draw::{Link, MachineMap, Scale, map, matrices};
use crate::page::figure::Figure;
use crate::table;
use simulator::memory::{Traffic, TrafficKind, Usage};

/// Returns the charts of a machine after `cycles` cycles. `executes` has a label for each node,
/// such as `2 threads`.
pub(in crate::page) fn figures(usage: &Usage, cycles: u64, executes: Vec<String>) -> Vec<Figure> {
    let nodes = executes.len();
    let mut figures = vec![used(usage, cycles, executes)];
    if !usage.traffic.is_empty() {
        figures.push(traffic(usage, nodes));
    }
    figures
}

/// Returns a label for each node, such as `2 threads`. `at` lists the node of each thread or
/// strand.
pub(in crate::page) fn executes(
    nodes: usize,
    what: &str,
    at: impl Iterator<Item = usize>,
) -> Vec<String> {
    let mut by_node = vec![0; nodes];
    at.for_each(|node| by_node[node] += 1);
    by_node.into_iter().map(|count| counted(count, what)).collect()
}

fn used(usage: &Usage, cycles: u64, executes: Vec<String>) -> Figure {
    let part = |busy: u64| busy as f64 / cycles.max(1) as f64;
    let mut table = table::with_header(
        "part|busy, cycles|busy, %|lines read or in|lines written or out|waited, cycles",
    );
    let mut row = |name: String, busy: u64, [first, second, third]: [Option<u64>; 3]| {
        let cell = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let percent = format!("{:.2}", part(busy) * 100.0);
        table.add_row([name, busy.to_string(), percent, cell(first), cell(second), cell(third)]);
    };
    for one in &usage.channels {
        let name = format!("node {} MCU {}", one.node, one.mcu);
        row(name, one.busy, [Some(one.reads), Some(one.writes), None]);
    }
    for one in &usage.hubs {
        row(format!("hub {}", one.hub), one.busy, [Some(one.requests), None, Some(one.waited)]);
    }
    for one in &usage.links {
        let name = format!("link of node {} and hub {}", one.node, one.hub);
        row(name, one.busy, [Some(one.into), Some(one.out), None]);
    }
    let mut channels = vec![Vec::new(); executes.len()];
    for one in &usage.channels {
        channels[one.node].push((one.mcu, part(one.busy)));
    }
    let scale = Scale::utilisation();
    let machine = MachineMap {
        channels,
        executes,
        hubs: usage.hubs.iter().map(|one| (one.hub, part(one.busy))).collect(),
        links: (usage.links.iter())
            .map(|one| Link { node: one.node, hub: one.hub, used: part(one.busy) / 2.0 })
            .collect(),
    };
    let busiest = usage.channels.iter().max_by_key(|one| one.busy);
    let busiest = busiest.map_or(String::new(), |one| {
        let share = percent(part(one.busy), 1.0);
        format!(" The busiest channel, MCU {} of node {}, is busy for {share}.", one.mcu, one.node)
    });
    Figure {
        id: "map".to_owned(),
        title: "Map of the machine".to_owned(),
        text: format!(
            "Nodes with their memory channels (MCU) above, hubs below, and the links between them; the colour shows the part of the time \
             for which each is busy.{busiest}"
        ),
        drawing: Some(map(&machine, &scale)),
        legend: scale.utilisation_legend(),
        table,
    }
}

const fn kind_text(kind: TrafficKind) -> &'static str {
    match kind {
        TrafficKind::Memory => "lines from memory",
        TrafficKind::C2c => "lines from L2 caches",
        TrafficKind::Invalidate => "invalidations",
        TrafficKind::WriteBack => "lines to memory",
    }
}

fn traffic(usage: &Usage, nodes: usize) -> Figure {
    let mut kinds: Vec<(String, Vec<Vec<u64>>)> = Vec::new();
    let mut table = table::with_header("kind|from node|to node|lines");
    for Traffic { from, to, kind, lines } in &usage.traffic {
        let text = kind_text(*kind).to_owned();
        let place = kinds.iter().position(|(name, _)| *name == text).unwrap_or_else(|| {
            kinds.push((text.clone(), vec![vec![0; nodes]; nodes]));
            kinds.len() - 1
        });
        kinds[place].1[*from][*to] += lines;
        table.add_row([text, from.to_string(), to.to_string(), lines.to_string()]);
    }
    let most = kinds.iter().flat_map(|(_, rows)| rows.iter().flatten()).max();
    let scale = Scale::linear(most.copied().unwrap_or(0));
    Figure {
        id: "traffic".to_owned(),
        title: "Traffic from node to node, by kind".to_owned(),
        text: "Each square shows what goes from the node of its row to the node of its column, in lines of 64 bytes; what is on the diagonal \
               stays in the node."
            .to_owned(),
        drawing: Some(matrices(&kinds, &scale)),
        legend: scale.legend(),
        table,
    }
}
