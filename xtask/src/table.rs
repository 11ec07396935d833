//! Tables that align.

use std::fmt;

/// The width of a screen.
pub const WIDTH: usize = 100;

/// Returns a text of at most `most` characters, or so many of its first ones and "...".
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the words of a text in lines of at most `most` characters, but for words that are longer.
#[must_use]
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

/// Rows of cells under a header, each column as wide as its widest cell.
#[derive(Clone, Debug)]
pub struct Table {
    /// `true` for each column whose cells align right.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows. `header` has the names of the columns with `|` between them; `>` before a name aligns
    /// its column right, as numbers are.
    #[must_use]
    pub fn new(header: &str) -> Self {
        let columns = || header.split('|');
        let name = |column: &str| column.trim_start_matches('>').to_owned();
        Self {
            right: columns().map(|column| column.starts_with('>')).collect(),
            rows: vec![columns().map(name).collect()],
        }
    }

    /// Adds a row. Cells that are missing are empty.
    pub fn row<I: IntoIterator<Item = impl ToString>>(&mut self, cells: I) {
        self.rows
            .push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// Returns whether the table has no row below its header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widths = cells.map(|cell: &String| cell.chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&self.right).zip(&widths);
            let cells = cells.map(|((cell, right), width)| match right {
                false => format!("{cell:<width$}"),
                true => format!("{cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_after_so_many_characters() {
        assert_eq!(cut("", 0), "");
        assert_eq!(cut("\u{e4}\u{f6}\u{fc}", 3), "\u{e4}\u{f6}\u{fc}");
        assert_eq!(cut("\u{e4}\u{f6}\u{fc}", 2), "\u{e4}\u{f6}...");
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrap("", 5), [""; 0]);
        assert_eq!(wrap("a bc  def", 4), ["a bc", "def"]);
        assert_eq!(
            wrap("\u{e4} \u{f6} longer x", 3),
            ["\u{e4} \u{f6}", "longer", "x"]
        );
    }

    #[test]
    fn columns_align() {
        let mut table = Table::new("name|>n");
        assert!(table.is_empty());
        table.row(["a", "100"]);
        table.row(["long name", "7"]);
        assert_eq!(
            table.to_string(),
            "name         n\na          100\nlong name    7\n"
        );
    }
}
