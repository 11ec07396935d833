//! Tables that align.

use std::fmt;

/// How a column aligns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a header, each column as wide as its widest cell.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this header.
    #[must_use]
    pub fn new(header: &[(&str, Align)]) -> Self {
        Self {
            columns: header.iter().map(|(_, align)| *align).collect(),
            rows: vec![header.iter().map(|(name, _)| (*name).to_owned()).collect()],
        }
    }

    /// Adds a row. Cells that are missing are empty.
    pub fn row<I: IntoIterator<Item = impl ToString>>(&mut self, cells: I) {
        self.rows
            .push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// Whether there is nothing but the header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell: &String| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, align), width) in row.iter().zip(&self.columns).zip(&widths) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                line.push_str(&match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        assert!(table.is_empty());
        table.row(["a", "100"]);
        table.row(["long name", "7"]);
        assert_eq!(
            table.to_string(),
            "name         n\na          100\nlong name    7\n"
        );
    }
}
