//! Values over time, a strip for each unit.

use std::fmt::Write;

use maud::html;

use super::{Axis, WIDTH, round};
use crate::page::figure::Drawing;
use crate::page::numbers::{TimeUnit, short};

/// One unit.
pub(crate) struct Strip {
    /// What it is.
    pub label: String,
    /// Its values, one for each interval.
    pub values: Vec<f64>,
    /// What they are compared with, alike.
    pub truth: Option<Vec<f64>>,
}

/// Units that have one scale.
pub(crate) struct Strips<'a> {
    /// The units.
    pub strips: &'a [Strip],
    /// When the intervals end, in cycles; the first begins at 0.
    pub ends: &'a [u64],
    /// The value at the top of a strip.
    pub top: f64,
    /// What it is in words.
    pub top_text: String,
    /// Whether the top is a limit.
    pub limit: bool,
    /// The unit of time.
    pub unit: TimeUnit,
}

const LEFT: f64 = 112.0;
const HEIGHT: f64 = 26.0;
const STEP: f64 = 34.0;
const ABOVE: f64 = 6.0;

/// Draws values over time.
#[must_use]
pub(crate) fn strips(chart: &Strips<'_>) -> Drawing {
    let Strips { ends, top, .. } = chart;
    let axis = Axis::of_time(LEFT, ends.last().copied().unwrap_or(0), chart.unit);
    let bottom = ABOVE + STEP * chart.strips.len() as f64;
    let top = if *top > 0.0 { *top } else { 1.0 };
    // A line of steps, which begins and ends at the base if it is an area.
    let line = |values: &[f64], base: f64, area: bool| {
        let mut line = format!("M{} {}", round(axis.left), round(base));
        for (value, end) in values.iter().zip(*ends) {
            let (x, y) = (
                axis.place(*end as f64 * chart.unit.per_cycle),
                base - HEIGHT * (value / top).min(1.0),
            );
            let _ = write!(line, "V{}H{}", round(y), round(x));
        }
        match area {
            true => line + &format!("V{}Z", round(base)),
            // From the first value on.
            false => line.replacen(&format!(" {}V", round(base)), " ", 1),
        }
    };
    let marks = html! {
        (axis.marks(ABOVE, bottom, &format!("time, {}", chart.unit.name)))
        @for (number, strip) in chart.strips.iter().enumerate() {
            @let base = ABOVE + STEP * number as f64 + HEIGHT;
            @let most = strip.values.iter().copied().fold(0.0, f64::max);
            g {
                title { (strip.label) ": at most " (short(most)) }
                text x="0" y=(round(base - 9.0)) { (strip.label) }
                text.m.e x=(round(LEFT - 3.0)) y=(round(base - HEIGHT + 6.0)) { (chart.top_text) }
                text.m.e x=(round(LEFT - 3.0)) y=(round(base)) { "0" }
                path.g d={ "M" (round(LEFT)) " " (round(base)) "H" (round(WIDTH - 6.0)) } {}
                path.measured d=(line(&strip.values, base, true)) {}
                @if let Some(truth) = &strip.truth { path.truth d=(line(truth, base, false)) {} }
                @if chart.limit { path.limit d={ "M" (round(LEFT)) " " (round(base - HEIGHT)) "H" (round(WIDTH - 6.0)) } {} }
            }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
