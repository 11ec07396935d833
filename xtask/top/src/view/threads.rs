//! A row for each thread.

use ratatui::text::Line;
use simulator::simulation::ThreadResults;

use super::{Look, Page, WORK, misses, served, work};
use crate::grid::{Grid, number};
use crate::snapshot::Snapshot;

/// The rows can be sorted by all columns but the bar.
pub(super) const COLUMNS: usize = 9;

/// The width of these columns.
const NUMBERS: usize = 76;

pub(super) fn page(of: &Snapshot, look: Look) -> Page {
    let mut threads: Vec<&ThreadResults> = of.threads.iter().collect();
    match look.sort {
        0 => {}
        1 => threads.sort_by_key(|thread| thread.strand),
        column => threads.sort_by(|one, other| by(other, column).total_cmp(&by(one, column))),
    }
    let header = format!(">thread|>strand|{WORK}|>L2 hits|misses served by");
    let mut grid = Grid::new(&header).sorted(look.sort);
    for thread in threads {
        let mut cells = vec![thread.thread.to_string(), thread.strand.to_string()];
        cells.extend(work(thread));
        cells.push(number(thread.served.l2));
        let mut cells: Vec<Line<'static>> = cells.into_iter().map(Line::from).collect();
        let width = look.width.saturating_sub(NUMBERS).clamp(4, 60);
        cells.push(served(&thread.served, width));
        grid.row(cells);
    }
    Page::table(grid.lines())
}

/// Returns what a column from the third says of a thread.
fn by(thread: &ThreadResults, column: usize) -> f64 {
    let (served, instructions) = (thread.served, thread.instructions.max(1) as f64);
    match column {
        2 => thread.instructions as f64,
        3 => thread.cycles as f64 / instructions,
        4 => misses(&served) as f64 / instructions,
        5 => served.local as f64,
        6 => served.remote as f64,
        7 => served.c2c as f64,
        _ => served.l2 as f64,
    }
}
