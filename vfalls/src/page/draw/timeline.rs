//! Draws events on a time axis, with a row for each kind of event.

use std::fmt::Write;

use maud::html;

use super::{Axis, WIDTH, label, room_beside, round};
use crate::numbers::{TimeUnit, counted};
use crate::page::figure::Drawing;

pub(crate) struct EventRow {
    pub label: String,
    /// The class of the events' colour in the style sheet.
    pub class: &'static str,
    /// The times of the events, in cycles.
    pub at: Vec<u64>,
}

const STEP: f64 = 18.0;
const ABOVE: f64 = 4.0;

pub(crate) fn timeline(rows: &[EventRow], cycles: u64, unit: TimeUnit) -> Drawing {
    let left = room_beside(rows.iter().map(|row| &*row.label));
    let axis = Axis::of_time(left, cycles, unit);
    let bottom = ABOVE + STEP * rows.len() as f64;
    let marks_of = |row: &EventRow, y: f64| {
        let places = row.at.iter().map(|at| axis.place(*at as f64 * unit.per_cycle) - 0.6);
        let mut places: Vec<_> = places.map(|place| round(place).to_string()).collect();
        places.dedup();
        places.iter().fold(String::new(), |mut path, x| {
            let _ = write!(path, "M{x} {}h1.2v12h-1.2z", round(y));
            path
        })
    };
    let marks = html! {
        (axis.marks(ABOVE, bottom, &format!("time, {}", unit.name)))
        @for (number, row) in rows.iter().enumerate() {
            @let top = ABOVE + STEP * number as f64 + 3.0;
            (label(&row.label, (left - 6.0, top + 10.0), left - 6.0, "e"))
            path.(row.class) d=(marks_of(row, top)) { title { (row.label) ": " (counted(row.at.len() as u64, "event")) } }
        }
    };
    Drawing { width: WIDTH, height: bottom + 28.0, marks }
}
