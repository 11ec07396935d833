//! Formats tables and wraps text.

use std::mem;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Row};
use simulator::text::csv_field;

/// The maximum number of characters in a line of text.
pub const WIDTH: usize = 100;

/// Returns the text if it has at most `most` characters. Otherwise, returns its first `most`
/// characters and "...".
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Breaks text between words into lines of at most `most` characters. A longer word gets a line of its own.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A table of texts. The rows may have fewer cells than the table has columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// The texts of all cells, one after the other. A page has tens of thousands of cells, most of them short, so a string for each would
    /// be wasteful.
    text: String,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
    /// The number of cells up to the end of each line. The first line is the header.
    lines: Vec<usize>,
    /// For each column, whether it is aligned right.
    right: Vec<bool>,
}

/// Returns a table without rows. `header` contains the names of the columns, separated by `|`. If
/// `>` precedes a name, the column is aligned right.
pub fn with_header(header: &str) -> Table {
    with_columns(header.split('|'))
}

/// Returns a table without rows, as [`with_header`] does. Here the names of the columns may contain
/// `|`.
pub fn with_columns<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Table {
    let names: Vec<N> = names.into_iter().collect();
    let right = names.iter().map(|name| name.as_ref().starts_with('>')).collect();
    let mut table = Table { text: String::new(), ends: Vec::new(), lines: Vec::new(), right };
    table.add_row(names.iter().map(|name| name.as_ref().trim_start_matches('>')));
    table
}

impl Table {
    /// Adds a row with these cells.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item: AsRef<str>>) {
        for cell in cells {
            self.text += cell.as_ref();
            self.ends.push(self.text.len());
        }
        self.lines.push(self.ends.len());
    }

    /// Returns `true` if the table has no row.
    pub fn is_empty(&self) -> bool {
        self.lines.len() == 1
    }

    /// Returns the texts of each line: first the names of the columns, then the cells of each row.
    pub(crate) fn lines(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        let (mut cells, mut begins) = (0, 0);
        self.lines.iter().map(move |end| {
            let ends = &self.ends[mem::replace(&mut cells, *end)..*end];
            let mut from = begins;
            begins = ends.last().copied().unwrap_or(begins);
            ends.iter().map(move |end| &self.text[mem::replace(&mut from, *end)..*end])
        })
    }

    /// Returns the names of the columns.
    pub(crate) fn header(&self) -> impl Iterator<Item = &str> {
        self.lines().take(1).flatten()
    }

    /// Returns the cells of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        self.lines().skip(1)
    }
}

/// Returns the table as lines of text, without spaces at the ends of lines. Each column is as wide
/// as its widest cell.
pub fn text(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(NOTHING);
    drawn.set_header(table.header());
    drawn.add_rows(table.rows().map(Row::from));
    for (column, right) in drawn.column_iter_mut().zip(&table.right) {
        column.set_padding((0, 2));
        if *right {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawn.trim_fmt() + "\n"
}

/// Returns a table as CSV according to RFC 4180, except that lines end with a line feed alone.
pub(crate) fn csv(table: &Table) -> String {
    let mut csv = String::with_capacity(table.text.len() + table.ends.len());
    for line in table.lines() {
        for (number, field) in line.enumerate() {
            if number > 0 {
                csv += ",";
            }
            csv += &csv_field(field);
        }
        csv += "\n";
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(cut("", 0), "");
        assert_eq!(cut("\u{e4}\u{f6}\u{fc}", 3), "\u{e4}\u{f6}\u{fc}");
        assert_eq!(cut("\u{e4}\u{f6}\u{fc}", 2), "\u{e4}\u{f6}...");
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrap("", 5), [""; 0]);
        assert_eq!(wrap("a bc  def", 4), ["a bc", "def"]);
        assert_eq!(wrap("\u{e4} \u{f6} longer x", 3), ["\u{e4} \u{f6}", "longer", "x"]);
    }

    #[test]
    fn columns_align() {
        let mut table = with_header("name|>n|");
        assert!(table.is_empty());
        table.add_row(["a", "100", "  b  "]);
        table.add_row(["long name", "7"]);
        assert_eq!(text(&table), "name         n\na          100    b\nlong name    7\n");
    }

    #[test]
    fn csv_is_quoted() {
        let mut table = with_header("function|misses");
        table.add_row(["f(int, char)".to_owned(), "3".to_owned()]);
        table.add_row(["say \"a\"".to_owned(), "4".to_owned()]);
        assert_eq!(csv(&table), "function,misses\n\"f(int, char)\",3\n\"say \"\"a\"\"\",4\n");
    }
}
