//! Draws which bytes of a memory line are used, with one row for each user of the line.

use std::ops::Range;

use maud::html;

use super::{WIDTH, label, round};
use crate::page::figure::Drawing;

pub(crate) struct ByteUser {
    pub label: String,
    pub spans: Vec<Span>,
}

/// A range of neighbouring bytes that one user uses in the same way.
pub(crate) struct Span {
    pub bytes: Range<usize>,
    /// Whether the bytes are read, and whether they are written. The row shows reads in its upper
    /// half, and writes in its lower half.
    pub use_: [bool; 2],
    /// The class of the span's colour.
    pub class: &'static str,
    pub words: String,
}

const LEFT: f64 = 112.0;
const STEP: f64 = 16.0;
const ABOVE: f64 = 18.0;
const BYTES: usize = 64;

pub(crate) fn bytes(users: &[ByteUser]) -> Drawing {
    let place = |byte: usize| LEFT + (WIDTH - 6.0 - LEFT) * byte as f64 / BYTES as f64;
    let bottom = ABOVE + STEP * users.len() as f64;
    let marks = html! {
        @for byte in (0..=BYTES).step_by(8) {
            path.g d={ "M" (round(place(byte))) " " (round(ABOVE)) "V" (round(bottom)) } {}
            @if byte < BYTES { text.m x=(round(place(byte))) y=(round(ABOVE - 5.0)) { (byte) } }
        }
        text.m.e x=(round(LEFT - 6.0)) y=(round(ABOVE - 5.0)) { "byte of the line" }
        @for (number, user) in users.iter().enumerate() {
            @let y = ABOVE + STEP * number as f64 + 2.0;
            (label(&user.label, (LEFT - 6.0, y + 9.5), LEFT - 6.0, "e"))
            @for Span { bytes, use_: [reads, writes], class, words } in &user.spans {
                @let (from, to) = (place(bytes.start), place(bytes.end));
                @let top = if *reads { y } else { y + 6.0 };
                rect.(*class) x=(round(from)) y=(round(top)) width=(round(to - from)) height=(if reads == writes { "12" } else { "6" }) {
                    title { (user.label) ": " (words) }
                }
            }
        }
    };
    Drawing { width: WIDTH, height: bottom + 6.0, marks }
}
