//! The machine on one screen.

use ratatui::text::Line;
use simulator::run::Replayed;

use super::{Look, Page, WORK, code, served, work};
use crate::cmd::top::grid::{Grid, meter, number};

/// The width of the columns before the bar.
const NUMBERS: usize = 59;

/// So many functions and lines are shown, where there is room.
const MOST: usize = 10;

pub(super) fn page(of: &Replayed, look: Look<'_>) -> Page {
    let mut rows = summary(of, look);
    for page in [code::functions(of, look), code::sharing(of, look)] {
        rows.push(Line::default());
        rows.extend(page.head);
        rows.extend(page.rows.into_iter().take(MOST));
    }
    Page { head: Vec::new(), rows }
}

/// Returns a row for each node, the busiest things that they share, and the hypercalls by status.
#[must_use]
pub(crate) fn summary(of: &Replayed, look: Look<'_>) -> Vec<Line<'static>> {
    let mut grid = Grid::new(&format!(">node|{WORK}|misses served by"));
    for (node, sum) in of.by_node().iter().enumerate() {
        let mut cells: Vec<Line<'static>> = vec![Line::from(node.to_string())];
        cells.extend(work(sum).into_iter().map(Line::from));
        let width = look.width.saturating_sub(NUMBERS).clamp(10, 60);
        cells.push(served(&sum.served, width));
        grid.row(cells);
    }
    let mut lines = grid.lines();
    lines.push(Line::default());
    lines.extend(busy(of, look));
    lines.push(Line::default());
    lines.push(code::hottest(of, look));
    lines.push(calls(of));
    lines
}

/// Returns how busy channels, hubs and links are, side by side.
fn busy(of: &Replayed, look: Look<'_>) -> Vec<Line<'static>> {
    let usage = &of.usage;
    let cycles = of.cycles;
    let channels = (usage.channels.iter())
        .map(|one| (format!("DRAM {}.{}", one.node, one.mcu), one.busy, cycles));
    let hubs = (usage.hubs.iter()).map(|one| (format!("hub {}", one.hub), one.busy, cycles));
    let nodes = 0..look.machine.nodes();
    let links = nodes.map(|node| {
        let here = || usage.links.iter().filter(move |link| link.node == node);
        let busy = here().map(|link| link.busy).sum();
        // Both directions of each can be busy at once.
        (format!("links {node}"), busy, cycles * 2 * here().count() as u64)
    });
    let links = links.filter(|(.., most)| *most > 0);
    let columns = look.width.div_ceil(40).max(1);
    let width = (look.width / columns).saturating_sub(10);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for group in [channels.collect::<Vec<_>>(), hubs.collect(), links.collect()] {
        for row in group.chunks(columns) {
            let mut line = Line::default();
            for (name, busy, most) in row {
                line.push_span(format!("{name:<8} "));
                line.extend(meter(*busy, *most, width));
                line.push_span(" ");
            }
            lines.push(line);
        }
    }
    lines
}

fn calls(of: &Replayed) -> Line<'static> {
    let statuses = of.by_status();
    let all: u64 = statuses.values().sum();
    let statuses: Vec<_> = (statuses.iter())
        .filter(|(_, count)| **count > 0)
        .map(|(status, count)| format!("{status} {}", number(*count)))
        .collect();
    Line::from(format!("hypercalls: {} ({})", number(all), statuses.join(", ")))
}
