//! Draws lines over time, with values above and below zero, and marks at points in time.

use std::fmt::Write;

use maud::html;

use super::{Axis, WIDTH, round};
use crate::numbers::{TimeUnit, ticks};
use crate::page::figure::Drawing;

pub(crate) struct Line<'a> {
    pub label: &'a str,
    /// The class of the line's colour in the style sheet.
    pub class: &'static str,
    /// The points of the line: the time in cycles, and the value.
    pub points: Vec<(u64, f64)>,
}

/// Lines that have the same scale.
pub(crate) struct Lines<'a> {
    pub lines: &'a [Line<'a>],
    /// The unit of the values, as text.
    pub values: &'a str,
    /// The marks: the time in cycles, the class of the line's colour, and the tooltip.
    pub marks: &'a [(u64, &'static str, String)],
    /// The time at the right end of the axis, in cycles.
    pub cycles: u64,
    pub unit: TimeUnit,
}

const LEFT: f64 = 48.0;
const ABOVE: f64 = 8.0;
const HEIGHT: f64 = 150.0;

pub(crate) fn lines(chart: &Lines<'_>) -> Drawing {
    let axis = Axis::of_time(LEFT, chart.cycles, chart.unit);
    let values = || chart.lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| *value));
    let (least, most) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let range = if most > least { most - least } else { 1.0 };
    let bottom = ABOVE + HEIGHT;
    let height = |value: f64| bottom - HEIGHT * (value - least) / range;
    let across = |cycles: u64| round(axis.place(cycles as f64 * chart.unit.per_cycle));
    let path = |points: &[(u64, f64)]| {
        points.iter().fold(String::new(), |mut path, (at, value)| {
            let step = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{step}{} {}", across(*at), round(height(*value)));
            path
        })
    };
    // The grid has the same step above and below zero, so the step is chosen for the whole range of
    // values.
    let steps = ticks(range, 5);
    let step = steps.get(1).copied().unwrap_or(range);
    let places = if step >= 1.0 { 0 } else { (-step.log10()).ceil().min(9.0) as usize };
    let below = steps.iter().skip(1).map(|tick| -tick).filter(|tick| *tick >= least);
    let marks = html! {
        (axis.marks(ABOVE, bottom, &format!("time, {}", chart.unit.name)))
        @for tick in steps.iter().copied().filter(|tick| *tick <= most).chain(below) {
            @let y = height(tick);
            path.g d={ "M" (round(LEFT)) " " (round(y)) "H" (round(WIDTH - 6.0)) } {}
            text.m.e x=(round(LEFT - 3.0)) y=(round(y + 3.0)) { (format!("{tick:.places$}")) }
        }
        text.m x="0" y=(round(ABOVE)) { (chart.values) }
        @for (at, class, words) in chart.marks {
            path.(*class) d={ "M" (across(*at)) " " (round(ABOVE)) "V" (round(bottom)) } { title { (words) } }
        }
        @for Line { label, class, points } in chart.lines {
            path d=(path(points)) style={ "fill: none; stroke-width: 1.5; stroke: var(--" (class) ")" } { title { (label) } }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
