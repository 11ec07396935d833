//! The view of the resources that nodes share: channels, hubs, links, and the traffic between
//! nodes.

use ratatui::text::Line;
use simulator::memory::{ChannelUse, HubUse, LinkUse, Traffic, TrafficKind, Usage};
use simulator::run::Replayed;

use super::{ViewContext, ViewPage};
use crate::cmd::top::grid::{Grid, meter};
use crate::numbers::count;

/// The width of the columns before the bar, in characters.
const NUMBERS: usize = 66;

/// Returns the rate at which `lines` cache lines move during the run, in GB/s.
fn rate(lines: u64, of: &Replayed, look: ViewContext<'_>) -> String {
    let gigabytes = (lines * look.line) as f64 / 1e9;
    format!("{:.2}", gigabytes / of.time.seconds.max(f64::MIN_POSITIVE))
}

fn limit(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e9)
}

pub(super) fn page(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    let Usage { channels, hubs, links, traffic: _ } = &of.usage;
    let bar = look.width.saturating_sub(NUMBERS).clamp(12, 60);
    let mut grid = Grid::new("DRAM channel|>lines read|>written|>GB/s|>limit|busy");
    let row = |numbers: [String; 5], busy| {
        let numbers = numbers.map(Line::from).into_iter();
        numbers.chain([meter(busy, of.cycles, bar)])
    };
    let way = |name: String, [reads, writes]: [u64; 2], most| {
        [name, count(reads), count(writes), rate(reads + writes, of, look), limit(most)]
    };
    for one in channels {
        let ChannelUse { node, mcu, reads, writes, busy, waited: _, limit } = *one;
        let name = format!("node {node} channel {mcu}");
        grid.row(row(way(name, [reads, writes], limit), busy));
    }
    if !hubs.is_empty() {
        grid.add_part("hub|requests|same line|cycles waited||busy");
        for one in hubs {
            let HubUse { hub, requests, busy, met, waited } = *one;
            let [requests, met, waited] = [requests, met, waited].map(count);
            let numbers = [format!("hub {hub}"), requests, met, waited, String::new()];
            grid.row(row(numbers, busy));
        }
    }
    if !links.is_empty() {
        grid.add_part("link|lines in|out|GB/s|limit|busy");
        for one in links {
            let LinkUse { hub, node, into, out, busy, limit } = *one;
            let name = format!("node {node} hub {hub}");
            // `busy` is the sum of both directions of the link.
            grid.row(row(way(name, [into, out], 2 * limit), busy / 2));
        }
    }
    let mut rows = grid.lines();
    rows.push(Line::default());
    rows.extend(traffic(of, look));
    ViewPage { head: Vec::new(), rows }
}

/// Returns a row for each pair of nodes. The row shows how many cache lines the first node sent to
/// the second.
fn traffic(of: &Replayed, look: ViewContext<'_>) -> Vec<Line<'static>> {
    let mut grid = Grid::new("lines from|to|>memory|>cache|>written back|>copies dropped");
    let nodes = 0..look.machine.nodes();
    for (from, to) in nodes.clone().flat_map(|from| nodes.clone().map(move |to| (from, to))) {
        let lines = |kind| {
            let same = |one: &&Traffic| (one.from, one.to, one.kind) == (from, to, kind);
            count(of.usage.traffic.iter().find(same).map_or(0, |one| one.lines))
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
    grid.lines()
}
