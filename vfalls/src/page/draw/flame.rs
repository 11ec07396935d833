//! Draws a flame graph: the box of each function is above the box of its caller.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{WIDTH, round};
use crate::numbers::{counted, percent};
use crate::page::figure::Drawing;

/// The height of a box, in units of the drawing.
const ROW: f64 = 15.0;
/// An upper limit for the average width of a character, in units of the drawing.
const CHARACTER: f64 = 6.2;
/// Boxes narrower than this width are left out.
const NARROWEST: f64 = 0.4;
/// The maximum number of boxes that are drawn above each other. Deeper calls are left out.
pub(crate) const DEEPEST: usize = 64;

/// A function in a stack of calls, with its number of samples, and the boxes of its callees by
/// name.
#[derive(Default)]
struct FlameBox<'a> {
    samples: u64,
    above: BTreeMap<&'a str, FlameBox<'a>>,
}

impl FlameBox<'_> {
    /// Returns the number of boxes in the highest stack that starts with this box. `unit` is the
    /// width of a sample.
    fn depth(&self, unit: f64) -> usize {
        let drawn = self.above.values().filter(|frame| frame.is_drawn(unit));
        1 + drawn.map(|frame| frame.depth(unit)).max().unwrap_or(0)
    }

    fn is_drawn(&self, unit: f64) -> bool {
        self.samples as f64 * unit >= NARROWEST
    }

    /// Draws the box of the function `name`, and the boxes above it.
    fn marks(&self, name: &str, at: (f64, f64), unit: f64, all: u64) -> Markup {
        let (left, top) = at;
        let width = self.samples as f64 * unit;
        let starts = self.above.values().scan(left, |next, frame| {
            *next += frame.samples as f64 * unit;
            Some(*next - frame.samples as f64 * unit)
        });
        let colour = name.bytes().map(usize::from).sum::<usize>() % 3 + 1;
        let share = percent(self.samples as f64, all as f64);
        html! {
            @if self.is_drawn(unit) {
                rect.{ "s" (colour) } x=(round(left)) y=(round(top)) width=(format!("{:.2}", (width - 0.3).max(0.1))) height=(ROW - 1.0) {
                    title { (name) ": " (counted(self.samples, "sample")) ", " (share) }
                }
                @let room = ((width - 4.0) / CHARACTER) as usize;
                @if name.chars().count() <= room {
                    text x=(round(left + 2.0)) y=(round(top + 10.5)) { (name) }
                } @else if room > 3 {
                    text x=(round(left + 2.0)) y=(round(top + 10.5)) { (name.chars().take(room - 1).collect::<String>()) "…" }
                }
                @for ((name, frame), left) in self.above.iter().zip(starts) {
                    (frame.marks(name, (left, top - ROW), unit, all))
                }
            }
        }
    }
}

/// Draws stacks of calls. A stack is the names of its functions, with the outermost function first,
/// and the number of its samples.
pub(crate) fn flame(stacks: &[(Vec<&str>, u64)]) -> Drawing {
    let mut all = FlameBox::default();
    for (frames, samples) in stacks {
        let mut at = &mut all;
        at.samples += samples;
        for frame in frames.iter().take(DEEPEST - 1) {
            at = at.above.entry(frame).or_default();
            at.samples += samples;
        }
    }
    let unit = WIDTH / all.samples.max(1) as f64;
    let height = all.depth(unit) as f64 * ROW;
    Drawing {
        width: WIDTH,
        height,
        marks: all.marks("all", (0.0, height - ROW), unit, all.samples),
    }
}
