//! Draws values over time, with one strip for each series.

use maud::{Render, html};

use super::{Axis, WIDTH, label, round};
use crate::numbers::{TimeUnit, short};
use crate::page::figure::Drawing;

pub(crate) struct Strip {
    pub label: String,
    /// The value of each interval, drawn as an area.
    pub values: Vec<f64>,
    /// A second value for each interval, to compare with the area. It is drawn as a line.
    pub truth: Option<Vec<f64>>,
}

/// Strips that have the same scale.
pub(crate) struct Strips<'a> {
    pub strips: &'a [Strip],
    /// The ends of the intervals, in cycles. The first interval begins at 0.
    pub ends: &'a [u64],
    /// The value that the top of a strip stands for.
    pub top: f64,
    pub top_text: String,
    /// Whether `top` is the maximum rate. If so, a line marks it.
    pub limit: bool,
    pub unit: TimeUnit,
}

const LEFT: f64 = 112.0;
const HEIGHT: f64 = 26.0;
const STEP: f64 = 34.0;
const ABOVE: f64 = 6.0;

pub(crate) fn strips(chart: &Strips<'_>) -> Drawing {
    let Strips { ends, top, .. } = chart;
    let axis = Axis::of_time(LEFT, ends.last().copied().unwrap_or(0), chart.unit);
    let bottom = ABOVE + STEP * chart.strips.len() as f64;
    let top = if *top > 0.0 { *top } else { 1.0 };
    let ends = ends.iter().map(|end| axis.place(*end as f64 * chart.unit.per_cycle));
    let ends: Vec<String> = ends.map(|end| format!("H{}", round(end))).collect();
    let left = round(axis.left);
    // Returns a path that, for each value, goes up or down to the value, and then on to the end of the interval.
    let steps = |values: &[f64], base: f64| {
        let mut steps = String::new();
        for (value, end) in values.iter().zip(&ends) {
            steps += "V";
            round(base - HEIGHT * (value / top).min(1.0)).render_to(&mut steps);
            steps += end;
        }
        steps
    };
    let marks = html! {
        (axis.marks(ABOVE, bottom, &format!("time, {}", chart.unit.name)))
        @for (number, strip) in chart.strips.iter().enumerate() {
            @let base = ABOVE + STEP * number as f64 + HEIGHT;
            @let most = strip.values.iter().copied().fold(0.0, f64::max);
            @let area = steps(&strip.values, base);
            g {
                title { (strip.label) ": at most " (short(most)) }
                (label(&strip.label, (0.0, base - 9.0), LEFT - 3.0, ""))
                text.m.e x=(round(LEFT - 3.0)) y=(round(base - HEIGHT + 6.0)) { (chart.top_text) }
                text.m.e x=(round(LEFT - 3.0)) y=(round(base)) { "0" }
                path.g d={ "M" (round(LEFT)) " " (round(base)) "H" (round(WIDTH - 6.0)) } {}
                path.measured d={ "M" (left) " " (round(base)) (area) "V" (round(base)) "Z" } {}
                @if let Some(truth) = &strip.truth {
                    // Most counters show what really happened, so the two paths have the same steps.
                    @let other = (*truth != strip.values).then(|| steps(truth, base));
                    // The line's path starts at the first value.
                    @let line = other.as_ref().unwrap_or(&area).get(1..);
                    path.truth d={ "M" (left) " " (line.unwrap_or_default()) @if line.is_none() { (round(base)) } } {}
                }
                @if chart.limit { path.limit d={ "M" (round(LEFT)) " " (round(base - HEIGHT)) "H" (round(WIDTH - 6.0)) } {} }
            }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
