//! Durations on a logarithmic axis, a row for each kind.

use maud::html;

use super::{WIDTH, room, round};
use crate::figure::Drawing;
use crate::numbers::short;

/// A kind.
pub struct Dots {
    /// Its name.
    pub label: String,
    /// The durations, the shortest first: the class of the colour, and words.
    pub at: Vec<(f64, &'static str, String)>,
}

const STEP: f64 = 22.0;
const ABOVE: f64 = 4.0;

/// Draws durations on an axis from a power of ten to another.
#[must_use]
pub fn dots(rows: &[Dots], title: &str) -> Drawing {
    let left = room(rows.iter().map(|row| &*row.label));
    let all = || {
        rows.iter()
            .flat_map(|row| row.at.iter().map(|(value, ..)| value.max(1.0)))
    };
    let first = all().fold(f64::MAX, f64::min).log10().floor();
    let last = all().fold(1.0, f64::max).log10().ceil().max(first + 1.0);
    let right = WIDTH - 14.0;
    let place =
        |value: f64| left + (right - left) * (value.max(1.0).log10() - first) / (last - first);
    let bottom = ABOVE + STEP * rows.len() as f64;
    let marks = html! {
        @for decade in first as i32..=last as i32 {
            @let value = 10_f64.powi(decade);
            path.g d={ "M" (round(place(value))) " " (round(ABOVE)) "V" (round(bottom)) } {}
            text.m.c x=(round(place(value))) y=(round(bottom + 11.0)) { (short(value)) }
        }
        text.m.c x=(round((left + right) / 2.0)) y=(round(bottom + 23.0)) { (title) }
        @for (number, row) in rows.iter().enumerate() {
            @let y = ABOVE + STEP * (number as f64 + 0.5);
            text.e x=(round(left - 8.0)) y=(round(y + 3.5)) { (row.label) }
            @if let (Some((shortest, ..)), Some((longest, ..))) = (row.at.first(), row.at.last()) {
                path.range d={ "M" (round(place(*shortest))) " " (round(y)) "H" (round(place(*longest))) } {}
            }
            // The shortest is on top where several are the same.
            @for (value, class, words) in row.at.iter().rev() {
                circle.edge.(*class) cx=(round(place(*value))) cy=(round(y)) r="4.5" { title { (row.label) ": " (words) } }
            }
        }
    };
    Drawing {
        width: WIDTH,
        height: bottom + 28.0,
        marks,
    }
}
