//! Draws grids of cells, whose colours show numbers.

use std::fmt::Write;

use maud::html;

use super::{Axis, Scale, WIDTH, round};
use crate::numbers::{TimeUnit, percent, short};
use crate::page::figure::Drawing;

/// Numbers over time, which become rows of cells. `rows` holds the names of the rows.
pub(crate) struct Cells<'a> {
    pub rows: &'a [String],
    /// The numbers of each row. A row has one number for each interval.
    pub numbers: &'a [Vec<u64>],
    /// The ends of the intervals, in cycles.
    pub ends: &'a [u64],
    pub unit: TimeUnit,
}

const LEFT: f64 = 96.0;
const CELL: f64 = 6.0;
const ABOVE: f64 = 6.0;

impl Cells<'_> {
    /// Draws the cells as a heat map. Leaves out row names that would overlap.
    pub(crate) fn heat(&self, scale: &Scale) -> Drawing {
        let axis = Axis::of_time(LEFT, self.ends.last().copied().unwrap_or(0), self.unit);
        let height = if self.rows.len() > 24 { CELL } else { 2.0 * CELL };
        let bottom = ABOVE + height * self.rows.len() as f64;
        let every = (11.0 / height).ceil() as usize;
        let place = |interval: usize| match interval.checked_sub(1) {
            None => axis.left,
            Some(last) => axis.place(self.ends[last] as f64 * self.unit.per_cycle),
        };
        let mut paths = vec![String::new(); super::SCALE];
        for (row, numbers) in self.numbers.iter().enumerate() {
            let levels: Vec<_> = (numbers.iter().zip(self.ends))
                .map(|(number, _)| scale.level(*number as f64))
                .collect();
            let mut interval = 0;
            for run in levels.chunk_by(|one, next| one == next) {
                let (from, to) = (place(interval), place(interval + run.len()));
                interval += run.len();
                let y = ABOVE + height * row as f64;
                let [from, to, y] = [from, to, y].map(round);
                let _ = write!(paths[run[0]], "M{from} {y}H{to}v{height}H{from}z");
            }
        }
        let marks = html! {
            (axis.marks(ABOVE, bottom, &format!("time, {}", self.unit.name)))
            g.heat {
                @for (level, path) in paths.iter().enumerate() {
                    @if !path.is_empty() { path.{ "s" (level) } d=(path) {} }
                }
            }
            @for (number, row) in self.rows.iter().enumerate().step_by(every) {
                text.m.e x=(round(LEFT - 4.0)) y=(round(ABOVE + height * number as f64 + height / 2.0 + 3.0)) { (row) }
            }
        };
        Drawing { width: WIDTH, height: bottom + 28.0, marks }
    }
}

/// Draws a square of numbers for each kind of traffic. A row is a sending node, and a column is a
/// receiving node.
pub(crate) fn matrices(kinds: &[(String, Vec<Vec<u64>>)], scale: &Scale) -> Drawing {
    let sum: u64 = kinds.iter().flat_map(|(_, rows)| rows.iter().flatten()).sum();
    let nodes = kinds.first().map_or(0, |(_, rows)| rows.len());
    let cell = (136.0 / nodes.max(1) as f64).min(34.0);
    let side = cell * nodes as f64;
    let step = side + 58.0;
    let marks = html! {
        @for (number, (kind, rows)) in kinds.iter().enumerate() {
            @let left = if number % 2 == 0 { 40.0 } else { 222.0 };
            @let top = 40.0 + step * (number / 2) as f64;
            text x=(round(left)) y=(round(top - 24.0)) { (kind) }
            text.m x=(round(left)) y=(round(top - 13.0)) { "to node" }
            text.m.e x=(round(left - 4.0)) y=(round(top - 3.0)) { "from" }
            @for (from, row) in rows.iter().enumerate() {
                @let y = top + cell * from as f64;
                text.m.e x=(round(left - 5.0)) y=(round(y + cell / 2.0 + 3.0)) { "node " (from) }
                text.m.c x=(round(left + cell * (from as f64 + 0.5))) y=(round(top - 3.0)) { (from) }
                @for (to, lines) in row.iter().enumerate() {
                    @let x = left + cell * to as f64;
                    @let level = scale.level(*lines as f64);
                    rect.edge.{ "s" (level) } x=(round(x)) y=(round(y)) width=(round(cell)) height=(round(cell)) {
                        title { (kind) ", from node " (from) " to node " (to) ": " (lines) " lines, " (percent(*lines as f64, sum as f64)) " of all" }
                    }
                    text.c.(if level >= 5 { "k1" } else { "k0" }) x=(round(x + cell / 2.0)) y=(round(y + cell / 2.0 + 3.5)) { (short(*lines as f64)) }
                }
            }
        }
    };
    Drawing { width: WIDTH, height: step * kinds.len().div_ceil(2) as f64 + 6.0, marks }
}
