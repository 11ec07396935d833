//! Draws distributions of durations on a logarithmic axis. Each distribution has a row.

use maud::html;

use super::{WIDTH, label, room_beside, round};
use crate::numbers::{counted, short};
use crate::page::figure::Drawing;

pub(crate) struct Dots {
    pub label: String,
    /// The dots, sorted by duration: the duration, the CSS colour class, and the tooltip.
    pub at: Vec<(f64, &'static str, String)>,
    /// The segments of the distribution. Each has a shortest and a longest duration, and the number
    /// of calls in between.
    pub parts: Vec<(f64, f64, u64)>,
}

const STEP: f64 = 34.0;
const ABOVE: f64 = 4.0;
/// The height of a distribution's highest bar.
const BAR: f64 = 16.0;

pub(crate) fn dots(rows: &[Dots], title: &str) -> Drawing {
    let left = room_beside(rows.iter().map(|row| &*row.label));
    let all = || rows.iter().flat_map(|row| row.at.iter().map(|(value, ..)| value.max(1.0)));
    let first = all().fold(f64::MAX, f64::min).log10().floor();
    let last = all().fold(1.0, f64::max).log10().ceil().max(first + 1.0);
    let right = WIDTH - 14.0;
    let place =
        |value: f64| left + (right - left) * (value.max(1.0).log10() - first) / (last - first);
    let start = |value: f64| place(value).max(left);
    let bottom = ABOVE + STEP * rows.len() as f64;
    let marks = html! {
        @for decade in first as i32..=last as i32 {
            @let value = 10_f64.powi(decade);
            path.g d={ "M" (round(place(value))) " " (round(ABOVE)) "V" (round(bottom)) } {}
            text.m.c x=(round(place(value))) y=(round(bottom + 11.0)) { (short(value)) }
        }
        text.m.c x=(round((left + right) / 2.0)) y=(round(bottom + 23.0)) { (title) }
        @for (number, row) in rows.iter().enumerate() {
            @let y = ABOVE + STEP * (number + 1) as f64 - 7.0;
            @let most = row.parts.iter().map(|(.., calls)| *calls).max().unwrap_or(1);
            @for (from, to, calls) in &row.parts {
                @let height = (BAR * *calls as f64 / most as f64).max(1.0);
                rect.c1 x=(round(start(*from))) y=(round(y - 6.0 - height)) width=(round((place(*to) - start(*from)).max(1.2))) height=(round(height)) {
                    title { (row.label) ": " (counted(*calls, "call")) " from " (short(*from)) " to " (short(*to)) " ns" }
                }
            }
            (label(&row.label, (left - 8.0, y + 3.5), left - 8.0, "e"))
            @if let (Some((shortest, ..)), Some((longest, ..))) = (row.at.first(), row.at.last()) {
                path.range d={ "M" (round(place(*shortest))) " " (round(y)) "H" (round(place(*longest))) } {}
            }
            // The dots are drawn in reverse order, so that the first of several equal durations is
            // on top.
            @for (value, class, words) in row.at.iter().rev() {
                circle.edge.(*class) cx=(round(place(*value))) cy=(round(y)) r="4.5" { title { (row.label) ": " (words) } }
            }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
