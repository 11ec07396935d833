//! Charts as SVG. A chart's colours are classes of the style sheet, so that the chart can be light
//! or dark. A chart is 360 units wide. Its text is 10 units high, which is legible on a screen of
//! 400 pixels. A flame graph is the exception: it is as wide as the page.

mod bars;
mod bytes;
mod curves;
mod dots;
mod flame;
mod grid;
mod lines;
mod map;
mod rounded;
mod states;
mod strips;
mod timeline;

pub(super) use bars::{Bar, bars};
pub(super) use bytes::{ByteUser, Span, bytes};
pub(super) use curves::{CURVES, curves};
pub use curves::{Curve, CurvePoint};
pub(super) use dots::{Dots, dots};
pub(super) use flame::{DEEPEST, flame};
pub(super) use grid::{Cells, matrices};
pub(super) use lines::{Line, Lines, lines};
pub(super) use map::{Link, MachineMap, map};
pub(super) use states::{StateStrip, state_strips};
pub(super) use strips::{Strip, Strips, strips};
pub(super) use timeline::{EventRow, timeline};

use maud::{Markup, html};

use crate::numbers::{TimeUnit, count, short, ticks};
use crate::page::cut::cut;
use crate::page::figure::{Legend, WIDTH};
use rounded::round;

/// The colour classes that distinguish the parts of a chart, in the order in which charts use them.
/// Colour-blind people can tell these colours apart (Okabe and Ito).
pub(super) const PARTS: [&str; 9] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];

/// The number of colours in a scale.
const SCALE: usize = 8;

/// Returns the approximate width of a label, in units of the drawing.
fn width(label: &str) -> f64 {
    label.chars().map(|one| if one.is_uppercase() { 7.2 } else { 6.0 }).sum()
}

/// Returns the width to reserve for labels: the width of the longest label plus a gap.
fn room<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    labels.map(width).fold(0.0, f64::max) + 8.0
}

/// Returns the width to reserve for labels beside a chart, at most half of the drawing's width.
fn room_beside<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    room(labels).min(WIDTH / 2.0)
}

/// Draws a label that begins at `x`, or that ends at `x` if `class` is `e`. If the label is wider than `room`, its middle is left out, and
/// a tooltip shows the whole label.
fn label(text: &str, (x, y): (f64, f64), room: f64, class: &str) -> Markup {
    let characters = text.chars().count();
    let shown = cut(text, (characters as f64 * room / width(text).max(1.0)) as usize);
    html! {
        text class=[(!class.is_empty()).then_some(class)] x=(round(x)) y=(round(y)) {
            (shown)
            @if shown != text { title { (text) } }
        }
    }
}

/// A horizontal axis from the value 0 on the left to `end` on the right.
struct Axis {
    left: f64,
    right: f64,
    end: f64,
}

impl Axis {
    /// Returns the horizontal coordinate that stands for a value.
    fn place(&self, value: f64) -> f64 {
        let part = if self.end > 0.0 { value / self.end } else { 0.0 };
        self.left + (self.right - self.left) * part
    }

    /// Draws vertical lines from `top` to `bottom` at round values. Below the lines are the values
    /// and the title.
    fn marks(&self, top: f64, bottom: f64, title: &str) -> Markup {
        let ticks = ticks(self.end, 6);
        let step = ticks.get(1).copied().unwrap_or(1.0);
        let places = if step >= 1.0 { 0 } else { (-step.log10()).ceil().min(9.0) as usize };
        html! {
            @for tick in ticks {
                @let x = round(self.place(tick));
                @let text = if step >= 1000.0 { short(tick) } else { format!("{tick:.places$}") };
                path.g d={ "M" (x) " " (round(top)) "V" (round(bottom)) } {}
                // Keeps the text of the last mark within the drawing.
                @let middle = self.place(tick).min(WIDTH - text.len() as f64 * 3.0);
                text.m.c x=(round(middle)) y=(round(bottom + 11.0)) { (text) }
            }
            text.m.c x=(round((self.left + self.right) / 2.0)) y=(round(bottom + 23.0)) { (title) }
        }
    }

    fn of_time(left: f64, cycles: u64, unit: TimeUnit) -> Self {
        Self { left, right: WIDTH - 6.0, end: cycles as f64 * unit.per_cycle }
    }
}

/// A scale that assigns colours to numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// The smallest number that gets each colour. The first colour, which stands for 0, is not in
    /// the list.
    least: Vec<f64>,
}

impl Scale {
    /// Returns the scale for how busy a part is, as a share of the time from 0 to 1. All pages use this scale. Most of its colours stand
    /// for small shares.
    pub(super) fn utilisation() -> Self {
        let least = [f64::MIN_POSITIVE, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5];
        Self { least: least.to_vec() }
    }

    /// Returns a logarithmic scale for numbers up to `most`: the smallest numbers of neighbouring
    /// colours have a constant ratio.
    pub(super) fn logarithmic(most: u64) -> Self {
        let colours = SCALE - 1;
        let ratio = (most.max(1) as f64).powf(1.0 / colours as f64).max(1.0 + 1e-9);
        let mut least: Vec<f64> = (0..colours)
            .map(|colour| ratio.powf(colour as f64).ceil())
            .take_while(|least| *least <= most.max(1) as f64)
            .collect();
        least.dedup();
        Self { least }
    }

    /// Returns a linear scale for numbers up to `most`: the smallest numbers of neighbouring
    /// colours have a constant difference.
    pub(super) fn linear(most: u64) -> Self {
        let colours = SCALE as u64 - 1;
        let mut least: Vec<f64> =
            (0..colours).map(|colour| (most * colour).div_ceil(colours).max(1) as f64).collect();
        least.dedup();
        Self { least }
    }

    /// Returns the index of a number's colour class.
    pub(super) fn level(&self, number: f64) -> usize {
        let level = self.least.partition_point(|least| *least <= number);
        // A scale with fewer levels than colours skips some colours, but always uses the last one.
        level * (SCALE - 1) / self.least.len().max(1)
    }

    fn classes(&self) -> impl Iterator<Item = String> {
        let number = self.least.len().max(1);
        (0..=self.least.len()).map(move |level| format!("s{}", level * (SCALE - 1) / number))
    }

    /// Returns the legend of a scale of counts.
    pub(super) fn legend(&self) -> Legend {
        let words = |level: usize| match level {
            0 => "0".to_owned(),
            _ => {
                let least = self.least[level - 1] as u64;
                match self.least.get(level).map(|next| *next as u64 - 1) {
                    None => format!("{} or more", count(least)),
                    Some(last) if last == least => count(least),
                    Some(last) => format!("{} to {}", count(least), count(last)),
                }
            }
        };
        self.classes().zip((0..).map(words)).collect()
    }

    pub(super) fn utilisation_legend(&self) -> Legend {
        let percent = |part: f64| format!("{:.0}%", part * 100.0);
        let words = |level: usize| match (level, self.least.get(level)) {
            (0, _) => "unused".to_owned(),
            (1, Some(next)) => format!("below {}", percent(*next)),
            (_, Some(next)) => format!("{} to {}", percent(self.least[level - 1]), percent(*next)),
            (_, None) => format!("{} or more", percent(self.least[level - 1])),
        };
        self.classes().zip((0..).map(words)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_a_colour_for_each_number() {
        let scale = Scale::logarithmic(128);
        assert_eq!([0.0, 1.0, 2.0, 4.0, 64.0, 128.0].map(|n| scale.level(n)), [0, 1, 2, 3, 7, 7]);
        let words: Vec<_> = scale.legend().into_iter().map(|(_, words)| words).collect();
        assert_eq!(
            words,
            ["0", "1", "2 to 3", "4 to 7", "8 to 15", "16 to 31", "32 to 63", "64 or more"]
        );
        let scale = Scale::linear(70);
        assert_eq!([0.0, 1.0, 10.0, 60.0, 70.0].map(|n| scale.level(n)), [0, 1, 2, 7, 7]);
        // A scale of small numbers uses only a few colours.
        let scale = Scale::logarithmic(1);
        assert_eq!(
            scale.legend(),
            [("s0".to_owned(), "0".to_owned()), ("s7".to_owned(), "1 or more".to_owned())]
        );
        assert_eq!(scale.level(1.0), 7);
        let scale = Scale::utilisation();
        assert_eq!([0.0, 0.005, 0.01, 0.3, 1.0].map(|part| scale.level(part)), [0, 1, 2, 6, 7]);
    }
}
