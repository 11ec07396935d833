//! A chart with its title, its explanation, and a table of its numbers.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::table::{Table, cells, csv};

/// A picture as SVG. The page scales it to the width of the column.
pub(super) struct Drawing {
    pub width: f64,
    pub height: f64,
    /// The SVG elements of the picture.
    pub marks: Markup,
}

/// The entries of a legend: the class of a colour, and its meaning.
pub(super) type Legend = Vec<(String, String)>;

/// Returns a legend from the class and the meaning of each colour.
pub(super) fn legend<'a>(colours: impl IntoIterator<Item = (&'a str, &'a str)>) -> Legend {
    colours.into_iter().map(|(class, text)| (class.to_owned(), text.to_owned())).collect()
}

/// Returns a table in HTML, with numbers aligned right.
fn table_html(table: &Table, caption: &str) -> Markup {
    let cell = |text: &str| match text.parse::<f64>() {
        Ok(_) => html! { td { (text) } },
        Err(_) => html! { td.w { (text) } },
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for name in cells(table.header()) { th scope="col" { (name) } } } }
                tbody { @for row in table.row_iter() { tr { @for text in cells(Some(row)) { (cell(&text)) } } } }
            }
        }
    }
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
    pub(super) fn html(&self) -> Markup {
        let Self { id, title, text, .. } = self;
        let csv = format!("data:text/csv;charset=utf-8,{}", escaped(&csv(&self.table)));
        let numbers = html! {
            (table_html(&self.table, title))
            p { a download={ (id) ".csv" } href=(csv) { "Download as CSV" } }
        };
        html! {
            figure id=(id) {
                figcaption { h3 { (title) } p { (text) } }
                @if !self.legend.is_empty() {
                    ul.legend {
                        @for (class, meaning) in &self.legend { li { span.(class) {} (meaning) } }
                    }
                }
                @if let Some(Drawing { width, height, marks }) = &self.drawing {
                    svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label={ (title) ". " (text) } { (marks) }
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
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(2.0 * width) role="img"
                aria-label={ (self.title) ". " (self.text) } {
                style { (PreEscaped(crate::page::STYLE)) }
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

/// Percent-encodes `text` for a URL, except letters, digits and `-_.,:`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let _ = match byte.is_ascii_alphanumeric() || b"-_.,:".contains(&byte) {
            true => escaped.write_char(byte.into()),
            false => write!(escaped, "%{byte:02X}"),
        };
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn a_link_is_escaped() {
        assert_eq!(escaped("a b,\"%\n"), "a%20b,%22%25%0A");
    }

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
        let html = figure.html().into_string();
        assert!(html.contains("aria-label=\"a&lt;b&gt;. &quot;quoted&quot; &amp; more\""));
        assert!(html.contains("<svg viewBox=\"0 0 10 5\" role=\"img\""));
        assert!(html.contains("<th scope=\"col\">a&lt;c</th>"));
        assert!(!html.contains("a<"));
    }
}
