//! The view with a row for each thread.

use ratatui::style::Color;
use ratatui::text::Line;
use simulator::run::{Replayed, Stack, ThreadRun};

use super::{ViewContext, ViewPage, WORK, misses, work};
use crate::cmd::top::grid::{Grid, shares};
use crate::numbers::count;

/// How many columns the rows can be sorted by: all except the bar.
pub(super) const COLUMNS: usize = 9;

/// The width of the columns before the bar.
const NUMBERS: usize = 78;

/// The minimum width of the bar. If less is left, the view omits the bar.
const NARROW: usize = 20;

const LEGEND: &str = "cycles: . busy  2 L2 cache  l local memory  r remote memory  c other cache  \
                      w line under way  s stores  a atomics  p pipeline";

/// Returns a bar of a thread's cycles. [`LEGEND`] explains the letters in the bar.
fn stack(stack: &Stack, width: usize) -> Line<'static> {
    let parts = [
        ('.', Color::Reset, stack.busy),
        ('2', Color::Blue, stack.l2),
        ('l', Color::Green, stack.local),
        ('r', Color::Yellow, stack.remote),
        ('c', Color::Red, stack.c2c),
        ('w', Color::Cyan, stack.arriving),
        ('s', Color::Magenta, stack.stores),
        ('a', Color::LightMagenta, stack.atomics),
        ('p', Color::LightBlue, stack.pipeline),
    ];
    shares(&parts, width)
}

pub(super) fn page(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    let mut threads: Vec<&ThreadRun> = of.threads.iter().collect();
    match look.sort {
        0 => {}
        1 => threads.sort_by_key(|thread| thread.strand),
        column => {
            threads.sort_by(|one, other| sort_key(other, column).total_cmp(&sort_key(one, column)))
        }
    }
    let width = look.width.saturating_sub(NUMBERS);
    let bar = (width >= NARROW).then_some(width.min(80));
    let cycles = if bar.is_some() { "|where cycles go" } else { "" };
    let header = format!(">thread|>strand|{WORK}|>L2 hits{cycles}");
    let mut grid = Grid::new(&header).sorted(look.sort);
    for thread in threads {
        let numbers = [thread.thread.to_string(), thread.strand.to_string()].into_iter();
        let numbers = numbers.chain(work(thread)).chain([count(thread.served.l2)]).map(Line::from);
        grid.row(numbers.chain(bar.map(|width| stack(&thread.stack, width))));
    }
    let mut lines = grid.lines();
    if bar.is_some() {
        lines.push(Line::from(LEGEND));
    }
    ViewPage::table(lines)
}

/// Returns a thread's sort key for column `column`, which must be at least 2.
fn sort_key(thread: &ThreadRun, column: usize) -> f64 {
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
