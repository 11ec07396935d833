//! The page that compares many runs. It has one table, whose rows the reader can sort.
//!
//! This page has no script. It has a hidden radio button for each column. The rows are flex items, and the selected button sets their
//! order. Because browsers do not align the columns of flex items, the page's CSS sets the width of each column.

use std::fmt::Write;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::style::{DRAWING_STYLE, PAGE_STYLE};
use crate::compared::RunComparison;

const TABLE: &str = "
.runs { overflow: auto; max-height: 85vh; border: 1px solid var(--grid); }
.runs table { display: block; width: max-content; } .runs thead, .runs tbody { display: flex; flex-direction: column; }
.runs thead { position: sticky; top: 0; z-index: 1; } .runs tr { display: grid; grid-template-columns: var(--columns); }
.runs th.w { text-align: left; } .runs label { cursor: pointer; text-decoration: underline dotted; }
.runs td.part { background: linear-gradient(to right, var(--s2) var(--part), transparent 0); }
#down:checked ~ .runs tbody { flex-direction: column-reverse; justify-content: flex-end; }
input:focus-visible ~ .runs { outline: 2px solid var(--accent); }
";

/// Returns the page as one HTML file.
pub(crate) fn runs(compared: &RunComparison) -> String {
    let table = compared.rounded();
    let rows: Vec<Vec<&str>> = table.rows().map(Iterator::collect).collect();
    let header: Vec<&str> = table.header().collect();
    let columns = columns(compared, &header, &rows);
    let mut style = TABLE.to_owned();
    for sort in columns.iter().filter_map(|column| column.sort.as_ref()) {
        let id = sort.id;
        let _ = writeln!(style, "#s{id}:checked ~ .runs tbody tr {{ order: var(--place-{id}); }}");
        let _ =
            writeln!(style, "#s{id}:checked ~ .runs label[for=s{id}] {{ color: var(--accent); }}");
    }
    let widths: String = columns.iter().map(|column| format!("{}ch ", column.width)).collect();
    let title = "Runs side by side";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(DRAWING_STYLE)) (PreEscaped(PAGE_STYLE)) (PreEscaped(style)) }
            }
            body {
                header { h1 { (title) } }
                main {
                    @for about in compared.description() { p { (about) "." } }
                    p { "The name of a column sorts the rows by it." }
                    input.hidden type="radio" name="sort" id="given" checked;
                    label for="given" { "as given" }
                    " "
                    input type="checkbox" id="down";
                    label for="down" { "reversed" }
                    @for (column, name) in columns.iter().zip(&header) {
                        @if let Some(Sort { id, .. }) = &column.sort {
                            input.hidden type="radio" name="sort" id={ "s" (id) } aria-label={ "sort by " (name) };
                        }
                    }
                    div.runs tabindex="0" role="region" aria-label=(title) {
                        table role="table" style={ "--columns: " (widths) } {
                            thead role="rowgroup" { tr role="row" {
                                @for (column, name) in columns.iter().zip(&header) { (column.heading(name)) }
                            } }
                            tbody role="rowgroup" { @for (number, row) in rows.iter().enumerate() {
                                tr role="row" style=(places(&columns, number)) {
                                    @for (column, text) in columns.iter().zip(row) { (column.cell(number, text)) }
                                }
                            } }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

struct Column {
    width: usize,
    is_number: bool,
    /// How rows are sorted by this column. `None` for a column of changes, which has the same order as the column before it.
    sort: Option<Sort>,
    /// Each row's number as a percentage of the largest number in the column; empty for settings and changes.
    parts: Vec<Option<f64>>,
}

struct Sort {
    id: usize,
    /// The position that each row has when the rows are sorted by this column.
    places: Vec<usize>,
}

impl Column {
    fn heading(&self, name: &str) -> Markup {
        html! { th.w[!self.is_number] role="columnheader" scope="col" {
            @match &self.sort {
                Some(Sort { id, .. }) => label for={ "s" (id) } { (name) },
                None => (name),
            }
        } }
    }

    fn cell(&self, row: usize, text: &str) -> Markup {
        let part = self.parts.get(row).copied().flatten();
        let part = part.map(|part| format!("--part: {part:.1}%"));
        let class = match (self.is_number, &part) {
            (_, Some(_)) => Some("part"),
            (true, None) => None,
            (false, None) => Some("w"),
        };
        html! { td role="cell" class=[class] style=[part] { (text) } }
    }
}

fn columns(compared: &RunComparison, header: &[&str], rows: &[Vec<&str>]) -> Vec<Column> {
    let mut columns = Vec::new();
    for (id, (_, is_number)) in compared.columns().enumerate() {
        let sort = Some(Sort { id, places: compared.ranks(id) });
        let parts = compared.parts(id);
        let has_changes = !parts.is_empty();
        columns.push(Column { width: 0, is_number, sort, parts });
        if has_changes {
            columns.push(Column { width: 0, is_number, sort: None, parts: Vec::new() });
        }
    }
    for (place, column) in columns.iter_mut().enumerate() {
        let texts = rows.iter().map(|row| &row[place]).chain([&header[place]]);
        column.width = texts.map(|text| text.chars().count()).max().unwrap_or(0) + 4;
    }
    columns
}

/// Returns CSS variables with a row's position: one variable for each column by which the rows can be sorted.
fn places(columns: &[Column], row: usize) -> String {
    let sorts = columns.iter().filter_map(|column| column.sort.as_ref());
    sorts.fold(String::new(), |mut style, Sort { id, places }| {
        let _ = write!(style, "--place-{id}:{};", places[row]);
        style
    })
}
