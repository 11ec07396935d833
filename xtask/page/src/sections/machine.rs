//! How much the parts of the machine are used, and what goes from node to node.

use crate::draw::{Line, Machine, Scale, map, matrices};
use crate::figure::{Figure, Table};
use crate::numbers::percent;
use crate::report::{Report, Traffic};

/// Returns the charts of the machine.
#[must_use]
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let mut figures = vec![used(report)];
    if !report.traffic.is_empty() {
        figures.push(traffic(report));
    }
    figures
}

fn used(report: &Report) -> Figure {
    let part = |busy: u64| busy as f64 / report.cycles.max(1) as f64;
    let mut table = Table::new(
        "part|busy, cycles|busy, %|lines read or in|lines written or out|waited, cycles",
    );
    let mut row = |name: String, busy: u64, [first, second, third]: [Option<u64>; 3]| {
        let cell = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let percent = format!("{:.2}", part(busy) * 100.0);
        table.row([
            name,
            busy.to_string(),
            percent,
            cell(first),
            cell(second),
            cell(third),
        ]);
    };
    for one in &report.channels {
        let name = format!("node {} MCU {}", one.node, one.mcu);
        row(name, one.busy, [Some(one.reads), Some(one.writes), None]);
    }
    for one in &report.hubs {
        row(
            format!("hub {}", one.hub),
            one.busy,
            [Some(one.requests), None, Some(one.waited)],
        );
    }
    for one in &report.links {
        let name = format!("link of node {} and hub {}", one.node, one.hub);
        row(name, one.busy, [Some(one.inward), Some(one.out), None]);
    }
    let mut channels = vec![Vec::new(); report.nodes];
    for one in &report.channels {
        channels[one.node].push((one.mcu, part(one.busy)));
    }
    let mut threads = vec![0; report.nodes];
    for one in &report.threads {
        threads[one.node()] += 1;
    }
    let scale = Scale::of_use();
    let machine = Machine {
        channels,
        threads,
        hubs: report
            .hubs
            .iter()
            .map(|one| (one.hub, part(one.busy)))
            .collect(),
        lines: (report.links.iter())
            .map(|one| Line {
                node: one.node,
                hub: one.hub,
                used: part(one.busy) / 2.0,
            })
            .collect(),
    };
    let busiest = report.channels.iter().max_by_key(|one| one.busy);
    let busiest = busiest.map_or(String::new(), |one| {
        let share = percent(part(one.busy), 1.0);
        format!(
            " The busiest channel, MCU {} of node {}, is busy for {share}.",
            one.mcu, one.node
        )
    });
    Figure {
        id: "map".to_owned(),
        title: "Map of the machine".to_owned(),
        text: format!(
            "Nodes with their memory channels (MCU) above, hubs below, and the links between them; the colour is the part of the time \
             that each is busy.{busiest}"
        ),
        drawing: Some(map(&machine, &scale)),
        legend: scale.legend_of_use(),
        table,
    }
}

/// What the kinds of traffic are called.
fn kind_text(kind: &str) -> &str {
    match kind {
        "memory" => "lines from memory",
        "c2c" => "lines from L2 caches",
        "invalidate" => "invalidations",
        "write_back" => "lines to memory",
        other => other,
    }
}

fn traffic(report: &Report) -> Figure {
    let mut kinds: Vec<(String, Vec<Vec<u64>>)> = Vec::new();
    let mut table = Table::new("kind|from node|to node|lines");
    for Traffic {
        from,
        to,
        kind,
        lines,
    } in &report.traffic
    {
        let text = kind_text(kind).to_owned();
        let place = kinds
            .iter()
            .position(|(name, _)| *name == text)
            .unwrap_or_else(|| {
                kinds.push((text.clone(), vec![vec![0; report.nodes]; report.nodes]));
                kinds.len() - 1
            });
        kinds[place].1[*from][*to] += lines;
        table.row([text, from.to_string(), to.to_string(), lines.to_string()]);
    }
    let most = kinds
        .iter()
        .flat_map(|(_, rows)| rows.iter().flatten())
        .max();
    let scale = Scale::of_equal_parts(most.copied().unwrap_or(0));
    Figure {
        id: "traffic".to_owned(),
        title: "Traffic from node to node, by kind".to_owned(),
        text: "Each square is what goes from the node of its row to the node of its column, in lines of 64 bytes; on the diagonal it \
               stays in the node."
            .to_owned(),
        drawing: Some(matrices(&kinds, &scale)),
        legend: scale.legend(),
        table,
    }
}
