//! What nodes share: channels, hubs, links, and what goes from node to node.

use ratatui::text::Line;
use simulator::memory::{Traffic, TrafficKind, Usage};

use super::{Look, Page};
use crate::grid::{Grid, meter, number, title};
use crate::snapshot::Snapshot;

/// A line of the L2 cache has so many bytes.
const LINE: u64 = 64;

/// Returns what so many lines are in a second, in GB.
fn rate(lines: u64, of: &Snapshot) -> String {
    let gigabytes = (lines * LINE) as f64 / 1e9;
    format!("{:.2}", gigabytes / of.seconds().max(f64::MIN_POSITIVE))
}

fn limit(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e9)
}

pub(super) fn page(of: &Snapshot, look: Look) -> Page {
    let Usage {
        traffic,
        channels,
        hubs,
        links,
    } = &of.usage;
    let bar = look.width.saturating_sub(58).clamp(12, 60);
    let meter = |busy| meter(busy, of.cycles, bar);
    let cells = |cells: [String; 5], bar| cells.map(Line::from).into_iter().chain([bar]);

    let mut grid = Grid::new("DRAM channel|>lines read|>written|>GB/s|>limit|busy");
    for one in channels {
        let numbers = [
            format!("node {} channel {}", one.node, one.mcu),
            number(one.reads),
            number(one.writes),
            rate(one.reads + one.writes, of),
            limit(one.limit),
        ];
        grid.row(cells(numbers, meter(one.busy)));
    }
    let mut rows = grid.lines();
    if !hubs.is_empty() {
        rows.push(Line::default());
        let mut grid = Grid::new("hub|>requests|>same line|>cycles waited||busy");
        for one in hubs {
            let numbers = [
                format!("hub {}", one.hub),
                number(one.requests),
                number(one.met),
                number(one.waited),
                String::new(),
            ];
            grid.row(cells(numbers, meter(one.busy)));
        }
        rows.extend(grid.lines());
    }
    if !links.is_empty() {
        rows.push(Line::default());
        let mut grid = Grid::new("link|>lines in|>out|>GB/s|>limit|busy");
        for one in links {
            let numbers = [
                format!("node {} hub {}", one.node, one.hub),
                number(one.into),
                number(one.out),
                rate(one.into + one.out, of),
                limit(2 * one.limit),
            ];
            // Both directions can be busy at once.
            grid.row(cells(numbers, meter(one.busy / 2)));
        }
        rows.extend(grid.lines());
    }
    rows.push(Line::default());
    rows.push(title("Lines from node to node"));
    let mut grid = Grid::new("from|to|>memory|>cache|>written back|>copies dropped");
    let nodes = 0..look.machine.nodes();
    for (from, to) in nodes
        .clone()
        .flat_map(|from| nodes.clone().map(move |to| (from, to)))
    {
        let lines = |kind| {
            let same = |one: &&Traffic| (one.from, one.to, one.kind) == (from, to, kind);
            number(traffic.iter().find(same).map_or(0, |one| one.lines))
        };
        let cells = [
            format!("node {from}"),
            format!("node {to}"),
            lines(TrafficKind::Memory),
            lines(TrafficKind::C2c),
            lines(TrafficKind::WriteBack),
            lines(TrafficKind::Invalidate),
        ];
        grid.row(cells.map(Line::from));
    }
    rows.extend(grid.lines());
    Page {
        head: Vec::new(),
        rows,
    }
}
