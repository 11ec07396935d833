//! The overview, which shows the whole machine on one screen.

use ratatui::text::Line;
use simulator::run::Replayed;

use super::{ViewContext, ViewPage, WORK, code, served, work};
use crate::cmd::top::grid::{Grid, meter};
use crate::numbers::count;

/// The width of the columns before the bar.
const NUMBERS: usize = 59;

/// The maximum number of functions, and of memory lines, that the overview lists.
const MAX_ROWS: usize = 10;

pub(super) fn page(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    let mut rows = summary(of, look);
    for page in [code::functions(of, look), code::sharing(of, look)] {
        rows.push(Line::default());
        rows.extend(page.head);
        rows.extend(page.rows.into_iter().take(MAX_ROWS));
    }
    ViewPage { head: Vec::new(), rows }
}

/// Returns the lines of the overview: a row for each node, bars for channels, hubs and links, the
/// functions that wait most, and the hypercalls by status.
pub(crate) fn summary(of: &Replayed, look: ViewContext<'_>) -> Vec<Line<'static>> {
    let mut grid = Grid::new(&format!(">node|{WORK}|misses served by"));
    for (node, sum) in of.by_node().iter().enumerate() {
        let cells = std::iter::once(node.to_string()).chain(work(sum)).map(Line::from);
        let width = look.width.saturating_sub(NUMBERS).clamp(10, 60);
        grid.row(cells.chain([served(&sum.served, width)]));
    }
    let mut lines = grid.lines();
    lines.push(Line::default());
    lines.extend(busy(of, look));
    lines.push(Line::default());
    lines.push(code::hottest(of, look));
    lines.push(calls(of));
    lines
}

/// Returns a bar for each channel, for each hub, and for the links of each node. A line of text
/// holds several bars.
fn busy(of: &Replayed, look: ViewContext<'_>) -> Vec<Line<'static>> {
    let usage = &of.usage;
    let cycles = of.cycles;
    let channels = (usage.channels.iter())
        .map(|one| (format!("DRAM {}.{}", one.node, one.mcu), one.busy, cycles));
    let hubs = (usage.hubs.iter()).map(|one| (format!("hub {}", one.hub), one.busy, cycles));
    let nodes = 0..look.machine.nodes();
    let links = nodes.map(|node| {
        let here = || usage.links.iter().filter(move |link| link.node == node);
        let busy = here().map(|link| link.busy).sum();
        // A link's busy cycles are the sum over its two directions, so each link can be busy for
        // twice the cycles of the run.
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
        .filter(|(_, times)| **times > 0)
        .map(|(status, times)| format!("{status} {}", count(*times)))
        .collect();
    Line::from(format!("hypercalls: {} ({})", count(all), statuses.join(", ")))
}
