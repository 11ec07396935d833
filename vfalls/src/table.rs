//! Tables and lines of text.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Row};

pub use comfy_table::Table;

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

/// Breaks text between words into lines of at most `most` characters. A word that is longer has its
/// own line.
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

/// Returns a table without rows. `header` contains the names of the columns, separated by `|`. If
/// `>` precedes a name, the column is aligned right.
pub fn with_header(header: &str) -> Table {
    with_columns(header.split('|'))
}

/// Returns a table without rows, as [`with_header`] does. Here the names of the columns may contain
/// `|`.
pub fn with_columns<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Table {
    let names: Vec<N> = names.into_iter().collect();
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(names.iter().map(|name| name.as_ref().trim_start_matches('>')));
    for (column, name) in table.column_iter_mut().zip(&names) {
        column.set_padding((0, 2));
        if name.as_ref().starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns the table as lines of text, without spaces at the ends of lines. Each column is as wide
/// as its widest cell.
pub fn text(table: &Table) -> String {
    table.trim_fmt() + "\n"
}

/// Returns the texts of a row.
pub(crate) fn cells(row: Option<&Row>) -> impl Iterator<Item = String> {
    row.into_iter().flat_map(Row::cell_iter).map(Cell::content)
}

/// Returns a table as CSV according to RFC 4180, but with line feeds alone at the ends of lines.
pub(crate) fn csv(table: &Table) -> String {
    let mut csv = String::new();
    for line in table.header().into_iter().chain(table.row_iter()) {
        for (number, field) in cells(Some(line)).enumerate() {
            if number > 0 {
                csv += ",";
            }
            match field.contains([',', '"', '\n']) {
                true => csv.extend(["\"", &field.replace('"', "\"\""), "\""]),
                false => csv += &field,
            }
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
