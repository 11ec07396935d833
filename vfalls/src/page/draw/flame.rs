//! Draws a flame graph: the box of each function is above the box of its caller.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::numbers::{counted, percent};
use crate::page::cut::cut;
use crate::page::figure::Drawing;

/// The width of a flame graph, in units of the drawing.
const WIDTH: f64 = 1200.0;
/// The height of a box, in units of the drawing.
const ROW: f64 = 18.0;
/// An upper limit for the average width of a character, in units of the drawing. The pages' script contains the same number.
const CHARACTER: f64 = 7.4;
/// The minimum share of all samples, in percent. Boxes with a smaller share are left out.
const MIN_WIDTH: f64 = 0.1;
/// The maximum number of boxes that are drawn above each other. Deeper calls are left out.
pub(crate) const DEEPEST: usize = 64;

/// A function in a call stack, with its number of samples, and the boxes of its callees by name.
#[derive(Default)]
struct FlameBox<'a> {
    samples: u64,
    above: BTreeMap<&'a str, FlameBox<'a>>,
}

impl FlameBox<'_> {
    /// Returns the number of boxes in the tallest stack that starts with this box. `unit` is one sample's share of all samples, in percent.
    fn depth(&self, unit: f64) -> usize {
        let drawn = self.above.values().filter(|frame| frame.is_drawn(unit));
        1 + drawn.map(|frame| frame.depth(unit)).max().unwrap_or(0)
    }

    fn is_drawn(&self, unit: f64) -> bool {
        self.samples as f64 * unit >= MIN_WIDTH
    }

    /// Draws the box of the function `name`, and the boxes above it.
    fn marks(&self, name: &str, at: (f64, f64), unit: f64, all: u64) -> Markup {
        let (left, top) = at;
        let width = self.samples as f64 * unit;
        let starts = self.above.values().scan(left, |next, frame| {
            *next += frame.samples as f64 * unit;
            Some(*next - frame.samples as f64 * unit)
        });
        let room = ((width / 100.0 * WIDTH - 4.0) / CHARACTER) as usize;
        let colour = name.bytes().map(usize::from).sum::<usize>() % 3 + 1;
        let share = percent(self.samples as f64, all as f64);
        html! {
            @if self.is_drawn(unit) {
                svg x=(percentage(left)) y=(top) width=(percentage(width)) height=(ROW) {
                    title { (name) ": " (counted(self.samples, "sample")) ", " (share) }
                    rect.{ "s" (colour) } width="100%" height=(ROW - 1.0) {}
                    @if room > 3 { text x="2" y="13" { (cut(name, room)) } }
                }
                @for ((name, frame), left) in self.above.iter().zip(starts) {
                    (frame.marks(name, (left, top - ROW), unit, all))
                }
            }
        }
    }
}

/// Formats a horizontal position or a width as a percentage of the drawing's width.
fn percentage(place: f64) -> String {
    format!("{place:.2}%")
}

/// Draws call stacks. Each stack has the names of its functions, starting with the outermost function, and its number of samples.
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
    let unit = 100.0 / all.samples.max(1) as f64;
    let height = all.depth(unit) as f64 * ROW;
    Drawing {
        width: WIDTH,
        height,
        marks: html! { g.flame { (all.marks("all", (0.0, height - ROW), unit, all.samples)) } },
    }
}
