//! Draws horizontal bars that consist of parts.

use maud::html;

use super::{Axis, WIDTH, label, room, round};
use crate::page::figure::Drawing;

pub(crate) struct Bar {
    pub label: String,
    /// The parts of the bar, from left to right: the CSS colour class, the length, and the tooltip.
    pub parts: Vec<(&'static str, f64, String)>,
    /// The text that is drawn to the right of the bar.
    pub value: String,
}

const STEP: f64 = 19.0;
const ABOVE: f64 = 4.0;

/// Draws bars on an axis from 0 to `end`. The labels are to the left of the bars. If any label is
/// long, all labels are above their bars instead.
pub(crate) fn bars(bars: &[Bar], end: f64, title: &str) -> Drawing {
    let labels = room(bars.iter().map(|bar| &*bar.label));
    let above = labels > WIDTH / 3.0;
    let step = if above { STEP + 11.0 } else { STEP };
    let axis = Axis {
        left: if above { 8.0 } else { labels },
        right: WIDTH - room(bars.iter().map(|bar| &*bar.value)),
        end,
    };
    let bottom = ABOVE + step * bars.len() as f64;
    let marks = html! {
        (axis.marks(ABOVE, bottom, title))
        @for (number, bar) in bars.iter().enumerate() {
            @let top = ABOVE + step * (number + 1) as f64 - 16.0;
            @match above {
                true => (label(&bar.label, (axis.left, top - 3.0), WIDTH - axis.left, "")),
                false => (label(&bar.label, (axis.left - 4.0, top + 10.0), labels, "e")),
            }
            @let starts = bar.parts.iter().scan(0.0, |sum, (_, length, _)| { *sum += length; Some(*sum - length) });
            @for ((class, length, words), start) in bar.parts.iter().zip(starts) {
                @if *length > 0.0 {
                    @let (from, to) = (axis.place(start), axis.place(start + length));
                    rect.(*class) x=(round(from)) y=(round(top)) width=(round(to - from)) height="13" {
                        title { (bar.label) ": " (words) }
                    }
                }
            }
            @let sum = bar.parts.iter().map(|(_, length, _)| length).sum();
            text.m x=(round(axis.place(sum) + 4.0)) y=(round(top + 10.0)) { (bar.value) }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
