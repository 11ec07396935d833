//! Draws how values depend on sizes, on logarithmic axes.

use std::fmt::Write;

use maud::html;

use super::{WIDTH, round};
use crate::numbers::short;
use crate::page::figure::Drawing;

/// A curve that shows how a value depends on a size.
pub struct Curve {
    /// The name of the curve in the legend, which says what the sizes are.
    pub label: String,
    /// The points, by ascending size.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve: a size, and the value at this size.
#[derive(Clone, Copy, Debug)]
pub struct CurvePoint {
    /// The size, above 0.
    pub size: f64,
    /// The value, above 0.
    pub value: f64,
    /// Whether the value is an estimate, which gets a hollow mark.
    pub estimated: bool,
}

const LEFT: f64 = 40.0;
const RIGHT: f64 = WIDTH - 14.0;
const ABOVE: f64 = 16.0;
const BOTTOM: f64 = 186.0;

/// A logarithmic axis: the coordinates of its ends, and the decimal logarithms of the values at its ends.
struct LogAxis {
    places: [f64; 2],
    ends: [f64; 2],
}

impl LogAxis {
    /// Returns an axis for values from `least` to `most`. Each end of the axis is a product of one of the `steps` and a power of ten.
    fn new(places: [f64; 2], least: f64, most: f64, steps: &[f64]) -> Self {
        let marks = marks(steps);
        let first = marks.iter().rev().find(|mark| **mark <= least).copied().unwrap_or(least);
        let last = marks.iter().find(|mark| **mark >= most && **mark > first);
        let last = last.copied().unwrap_or(10.0 * most);
        Self { places, ends: [first.log10(), last.log10()] }
    }

    fn place(&self, value: f64) -> f64 {
        let [first, last] = self.ends;
        let part = (value.log10() - first) / (last - first);
        self.places[0] + (self.places[1] - self.places[0]) * part
    }

    /// Returns the marks of the axis: the steps of each decade (power of ten) between the axis's ends.
    fn marks(&self, steps: &[f64]) -> impl Iterator<Item = f64> {
        let [first, last] = self.ends;
        let within = move |mark: &f64| (first - 1e-9..last + 1e-9).contains(&mark.log10());
        marks(steps).into_iter().filter(within)
    }
}

/// Returns the `steps` multiplied by each power of ten, starting with 1.
fn marks(steps: &[f64]) -> Vec<f64> {
    (0..16).flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade))).collect()
}

pub(crate) fn curves(curves: &[Curve], sizes: &str, values: &str) -> Drawing {
    const SIZES: [f64; 1] = [1.0];
    const VALUES: [f64; 3] = [1.0, 2.0, 5.0];
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let range = |of: fn(&CurvePoint) -> f64| {
        let ends = points().map(of);
        ends.fold((f64::MAX, 1.0_f64), |(least, most), one| (least.min(one), most.max(one)))
    };
    let ((least, most), (low, high)) = (range(|point| point.size), range(|point| point.value));
    let across = LogAxis::new([LEFT, RIGHT], least, most, &SIZES);
    let up = LogAxis::new([BOTTOM, ABOVE], low, high, &VALUES);
    let path = |curve: &Curve| {
        curve.points.iter().fold(String::new(), |mut path, point| {
            let step = if path.is_empty() { 'M' } else { 'L' };
            let place = (round(across.place(point.size)), round(up.place(point.value)));
            let _ = write!(path, "{step}{} {}", place.0, place.1);
            path
        })
    };
    let marks = html! {
        @for size in across.marks(&SIZES) {
            @let x = round(across.place(size));
            path.g d={ "M" (x) " " (round(ABOVE)) "V" (round(BOTTOM)) } {}
            text.m.c x=(x) y=(round(BOTTOM + 11.0)) { (short(size)) }
        }
        text.m.c x=(round((LEFT + RIGHT) / 2.0)) y=(round(BOTTOM + 23.0)) { (sizes) }
        @for value in up.marks(&VALUES) {
            @let y = up.place(value);
            path.g d={ "M" (round(LEFT)) " " (round(y)) "H" (round(RIGHT)) } {}
            text.m.e x=(round(LEFT - 3.0)) y=(round(y + 3.0)) { (short(value)) }
        }
        text.m x="0" y=(round(ABOVE - 8.0)) { (values) }
        @for (curve, class) in curves.iter().zip(CURVES) {
            @let colour = format!("var(--{class})");
            path d=(path(curve)) style={ "fill: none; stroke-width: 1.5; stroke: " (colour) } { title { (curve.label) } }
            @for CurvePoint { size, value, estimated } in &curve.points {
                @let fill = if *estimated { "var(--paper)" } else { &colour };
                circle cx=(round(across.place(*size))) cy=(round(up.place(*value))) r="2.5" style={ "stroke: " (colour) "; fill: " (fill) } {
                    title { (curve.label) ", " (short(*size)) ": " (short(*value)) @if *estimated { " (estimated)" } }
                }
            }
        }
    };
    Drawing { width: WIDTH, height: BOTTOM + 28.0, marks }
}

/// The colours of the curves, in order.
pub(crate) const CURVES: [&str; 4] = ["c2", "c4", "c6", "c5"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_marks() {
        let axis = LogAxis::new([0.0, 100.0], 3.0, 40_000.0, &[1.0]);
        assert_eq!(axis.marks(&[1.0]).collect::<Vec<_>>(), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!([1.0, 10.0, 1e5].map(|value| axis.place(value)), [0.0, 20.0, 100.0]);
        // There is an axis even if all values are equal.
        let axis = LogAxis::new([100.0, 0.0], 50.0, 50.0, &[1.0, 2.0, 5.0]);
        assert_eq!(axis.marks(&[1.0, 2.0, 5.0]).collect::<Vec<_>>(), [50.0, 100.0]);
        assert_eq!([50.0, 100.0].map(|value| axis.place(value).round()), [100.0, 0.0]);
    }

    #[test]
    fn estimates_are_hollow() {
        let point = |size, value, estimated| CurvePoint { size, value, estimated };
        let curve = Curve {
            label: "strands".to_owned(),
            points: vec![point(1.0, 60.0, false), point(1e4, 600.0, true)],
        };
        let drawn = curves(&[curve], "sizes", "values").marks.into_string();
        let marks: Vec<_> = drawn.split("<circle").skip(1).collect();
        assert!(marks[0].contains("fill: var(--c2)") && marks[0].contains("strands, 1: 60<"));
        assert!(marks[1].contains("fill: var(--paper)"), "{}", marks[1]);
        assert!(marks[1].contains("strands, 10 k: 600 (estimated)<"), "{}", marks[1]);
    }
}
