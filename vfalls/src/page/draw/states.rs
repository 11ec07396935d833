//! Draws strips of states over time. Each thread has a strip. The columns of a strip show the share of each state.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::html;

use super::{Axis, WIDTH, room, round};
use crate::numbers::TimeUnit;
use crate::page::figure::Drawing;

pub(crate) struct StateStrip {
    pub label: String,
    /// The shares in each column, from the bottom up: the CSS colour class, and the fraction of the column's time.
    pub columns: Vec<Vec<(&'static str, f64)>>,
}

const ABOVE: f64 = 4.0;

/// The minimum distance between two labels, in units of the drawing.
const LABEL: f64 = 11.0;

/// Draws strips. `ends` holds the end of each column in cycles. If there are many strips, they are lower, and only some of them have a
/// label.
pub(crate) fn state_strips(strips: &[StateStrip], ends: &[u64], unit: TimeUnit) -> Drawing {
    let step = match strips.len() {
        ..=32 => 18.0,
        33..=96 => 9.0,
        _ => 4.0,
    };
    let height = step - if step > 10.0 { 4.0 } else { 1.0 };
    let labelled = (LABEL / step).ceil() as usize;
    let left = room(strips.iter().map(|strip| &*strip.label));
    let axis = Axis::of_time(left, ends.last().copied().unwrap_or(0), unit);
    let bottom = ABOVE + step * strips.len() as f64;
    let place = |cycles: u64| axis.place(cycles as f64 * unit.per_cycle);
    // Returns one path for each colour. Neighbouring columns with the same shares are one rectangle.
    let paths = |strip: &StateStrip, top: f64| {
        let mut paths = BTreeMap::<&str, String>::new();
        let (mut column, mut begins) = (0, 0);
        while column < strip.columns.len() {
            let shares = &strip.columns[column];
            let same = strip.columns[column..].iter().take_while(|other| *other == shares).count();
            column += same;
            let end = ends.get(column - 1).copied().unwrap_or(begins);
            let (x, right) = (place(begins), place(end));
            let mut base = top + height;
            for (class, share) in shares {
                let (y, high) = (base - share * height, share * height);
                let path = paths.entry(class).or_default();
                let _ = write!(path, "M{:.2} {:.2}H{:.2}v{:.2}H{:.2}z", x, y, right, high, x);
                base = y;
            }
            begins = end;
        }
        paths
    };
    let marks = html! {
        (axis.marks(ABOVE, bottom, &format!("time, {}", unit.name)))
        @for (number, strip) in strips.iter().enumerate() {
            @let top = ABOVE + step * number as f64 + 1.0;
            g {
                title { (strip.label) }
                @if number % labelled == 0 {
                    text.e x=(round(left - 6.0)) y=(round(top + height.max(8.0) - 1.0)) { (strip.label) }
                }
                @for (class, path) in paths(strip, top) { path.heat.(class) d=(path) {} }
            }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
