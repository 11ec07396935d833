//! A chart with its title, its explanation, and a table of its numbers.

use maud::{Markup, PreEscaped, html};
use simulator::text::url;

use super::cut::cut;
use super::style::DRAWING_STYLE;
use crate::table::{Table, csv};

/// The width of a column of pictures.
pub(super) const WIDTH: f64 = 360.0;

/// A picture as SVG. If it is [`WIDTH`] units wide, the page scales it to the column's width.
pub(super) struct Drawing {
    /// If the width is greater than [`WIDTH`], the picture is as wide as the page. All horizontal positions in such a picture are
    /// percentages, so that its text has the same size at every width.
    pub width: f64,
    pub height: f64,
    /// The SVG elements of the picture.
    pub marks: Markup,
}

impl Drawing {
    fn is_wide(&self) -> bool {
        self.width > WIDTH
    }
}

/// The entries of a legend: the class of a colour, and its meaning.
pub(super) type Legend = Vec<(String, String)>;

/// Returns a legend from the class and the meaning of each colour.
pub(super) fn legend<'a>(colours: impl IntoIterator<Item = (&'a str, &'a str)>) -> Legend {
    colours.into_iter().map(|(class, text)| (class.to_owned(), text.to_owned())).collect()
}

/// The maximum number of characters in a cell of a table. The first number is for a table as wide as a column, and the second for a table
/// as wide as the page. A wide table can contain the stacks of a flame graph, or the source lines of a function.
const CELL: [usize; 2] = [100, 160];

/// The maximum number of characters in a figure's title.
const TITLE: usize = 80;

/// Returns a table as HTML, with numeric columns aligned right.
fn table_html(table: &Table, title: &str, most: usize) -> Markup {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let first: Vec<_> = table.rows().take(1).flatten().collect();
    let is_words = |column: usize| first.get(column).is_some_and(|text| !is_number(text));
    html! {
        div.scroll tabindex="0" role="region" aria-label=(title) {
            table {
                thead { tr { @for (column, name) in table.header().enumerate() {
                    th scope="col" class=[is_words(column).then_some("w")] { (name) }
                } } }
                tbody { @for row in table.rows() { tr { @for text in row {
                    @if is_number(text) {
                        td { (text) }
                    } @else {
                        td.w title=[is_long(text, most).then_some(text)] { (cut(text, most)) }
                    }
                } } } }
            }
        }
    }
}

fn is_long(text: &str, most: usize) -> bool {
    // Every character has at least one byte, so a text of at most `most` bytes cannot be too long.
    text.len() > most && text.chars().nth(most).is_some()
}

/// Returns whether a table is too wide for a page column, based on estimated widths in pixels.
fn is_wide(table: &Table) -> bool {
    const CHARACTER: usize = 7;
    const BETWEEN: usize = 16;
    const COLUMN: usize = 480;
    let mut widths: Vec<usize> = Vec::new();
    for line in table.lines() {
        for (column, text) in line.enumerate() {
            let width = text.chars().count().min(CELL[0]);
            match widths.get_mut(column) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    widths.iter().map(|width| width * CHARACTER + BETWEEN).sum::<usize>() > COLUMN
}

pub(super) struct Figure {
    /// The figure's id, unique within the page. It consists of letters, digits and hyphens.
    pub id: String,
    pub title: String,
    /// Sentences that explain how to read the chart and what it shows.
    pub text: String,
    /// The picture; `None` if the figure consists of the table alone.
    pub drawing: Option<Drawing>,
    pub legend: Legend,
    pub table: Table,
}

impl Figure {
    /// Returns whether the figure is as wide as the page rather than a column.
    pub(super) fn is_wide(&self) -> bool {
        match &self.drawing {
            Some(drawing) => drawing.is_wide(),
            None => is_wide(&self.table),
        }
    }

    /// Returns the figure's approximate height in pixels, in a column of a wide window.
    pub(super) fn height(&self) -> f64 {
        const FRAME: f64 = 80.0;
        const LINE: f64 = 20.0;
        // The number of characters that fit in a line of text.
        const LINE_LENGTH: usize = 66;
        // The width of a legend's entry without its text, in characters.
        const ENTRY: usize = 5;
        const MAX_ROWS: usize = 18;
        let entries = self.legend.iter().map(|(_, text)| text.chars().count() + ENTRY);
        let lines = self.title.chars().count().min(TITLE).div_ceil(LINE_LENGTH)
            + self.text.chars().count().div_ceil(LINE_LENGTH)
            + entries.sum::<usize>().div_ceil(LINE_LENGTH);
        let numbers = match &self.drawing {
            Some(drawing) => drawing.height * 1.36,
            None => LINE * self.table.rows().count().min(MAX_ROWS) as f64,
        };
        FRAME + LINE * lines as f64 + numbers
    }

    /// Returns the figure as a card. `order` is the card's position within its section when the page has one column.
    pub(super) fn html(&self, order: usize) -> Markup {
        let Self { id, title, text, .. } = self;
        let wide = self.is_wide();
        let csv = format!("data:text/csv;charset=utf-8,{}", url(&csv(&self.table)));
        let numbers = html! {
            (table_html(&self.table, title, CELL[usize::from(wide)]))
            p { a download={ (id) ".csv" } href=(PreEscaped(csv)) { "Download as CSV" } }
        };
        html! {
            figure id=(id) class=[wide.then_some("wide")] style=[(order > 0).then(|| format!("order:{order}"))] {
                figcaption { h3 title=[is_long(title, TITLE).then_some(title)] { (cut(title, TITLE)) } p { (text) } }
                @if !self.legend.is_empty() {
                    ul.legend {
                        @for (class, meaning) in &self.legend { li { span.(class) {} (meaning) } }
                    }
                }
                @if let Some(Drawing { width, height, marks }) = &self.drawing {
                    @let label = format!("{title}. {text}");
                    @if wide {
                        svg height=(height) role="img" aria-label=(label) { (marks) }
                    } @else {
                        svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(label) { (marks) }
                    }
                    details { summary { "Numbers" span.hidden { " of: " (title) } } (numbers) }
                } @else {
                    (numbers)
                }
            }
        }
    }

    /// Returns the picture and its legend as an SVG file; `None` if there is no picture.
    pub(super) fn svg(&self) -> Option<String> {
        const LINE: f64 = 14.0;
        let drawing = self.drawing.as_ref()?;
        let (width, below) = (drawing.width, drawing.height + 4.0);
        let height = below + LINE * self.legend.len() as f64;
        let rows = (0..).map(|row| below + LINE * f64::from(row));
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width.max(2.0 * WIDTH)) style="max-width: 100%; height: auto" role="img"
                aria-label={ (self.title) ". " (self.text) } {
                style { (PreEscaped(DRAWING_STYLE)) }
                rect width="100%" height="100%" style="fill: var(--paper)" {}
                (drawing.marks)
                @for (y, (class, meaning)) in rows.zip(&self.legend) {
                    rect.(class) x="8" y=(y) width="9" height="9" {}
                    text x="22" y=(y + 8.0) { (meaning) }
                }
            }
        };
        Some(markup.into_string() + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn text_is_escaped() {
        let figure = Figure {
            id: "x".to_owned(),
            title: "a<b>".to_owned(),
            text: "\"quoted\" & more".to_owned(),
            drawing: Some(Drawing { width: 10.0, height: 5.0, marks: html! {} }),
            legend: Vec::new(),
            table: table::with_header("a<c"),
        };
        let html = figure.html(0).into_string();
        assert!(html.contains("aria-label=\"a&lt;b&gt;. &quot;quoted&quot; &amp; more\""));
        assert!(html.contains("<svg viewBox=\"0 0 10 5\" role=\"img\""));
        assert!(html.contains("<th scope=\"col\">a&lt;c</th>"));
        assert!(!html.contains("a<"));
    }
}
