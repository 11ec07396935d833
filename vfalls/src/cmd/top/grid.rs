//! Formats columns, bars and numbers for the views. All characters are ASCII, so that every terminal and every file can show them.

use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};

/// A table of cells. Each column is as wide as its widest cell.
pub(crate) struct Grid {
    /// `true` for each column whose cells align right.
    right: Vec<bool>,
    /// The index of the sort column. The header of this column is underlined.
    sorted: Option<usize>,
    rows: Vec<Vec<Line<'static>>>,
    /// The indices of the header rows in `rows`. Each part of the grid has one header row.
    headers: Vec<usize>,
}

impl Grid {
    /// Returns a grid without rows. `header` has the form that [`table::with_header`](crate::table::with_header) takes.
    pub(crate) fn new(header: &str) -> Self {
        let names = || header.split('|');
        let mut grid = Self {
            right: names().map(|name| name.starts_with('>')).collect(),
            sorted: None,
            rows: Vec::new(),
            headers: Vec::new(),
        };
        grid.header(names().map(|name| name.trim_start_matches('>')));
        grid
    }

    fn header<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        self.headers.push(self.rows.len());
        self.row(names.map(|name| Line::from(name.to_owned())));
    }

    /// Starts another part of the grid, with an empty line and a new header.
    pub(crate) fn add_part(&mut self, header: &str) {
        self.row([]);
        self.header(header.split('|'));
    }

    pub(crate) fn sorted(mut self, column: usize) -> Self {
        self.sorted = Some(column);
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Line<'static>>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns all headers and rows as lines. Each column is as wide as its widest cell.
    pub(crate) fn lines(self) -> Vec<Line<'static>> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let line = |(number, row): (usize, Vec<Line<'static>>)| {
            let mut line = Line::default();
            for (column, cell) in row.into_iter().enumerate() {
                if column > 0 {
                    line.push_span("  ");
                }
                let gap = " ".repeat(widths[column] - cell.width());
                let style = match (self.headers.contains(&number), self.sorted == Some(column)) {
                    (true, true) => Style::new().bold().underlined(),
                    (true, false) => Style::new().bold(),
                    _ => Style::new(),
                };
                let at = if self.right[column] { 0 } else { cell.spans.len() };
                let spans = cell.spans.into_iter().map(|span| span.patch_style(style));
                let mut spans: Vec<_> = spans.collect();
                spans.insert(at, Span::from(gap));
                line.extend(spans);
            }
            line
        };
        self.rows.into_iter().enumerate().map(line).collect()
    }
}

/// Returns `part` as a percentage of `whole`, or `-` if `whole` is 0.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0}%", 100.0 * part as f64 / whole as f64),
    }
}

/// Returns `number` divided by `by`, with two decimal places, or `-` if `by` is 0.
pub(crate) fn ratio(number: f64, by: u64) -> String {
    match by {
        0 => "-".to_owned(),
        _ => format!("{:.2}", number / by as f64),
    }
}

/// Returns a bar of `width` characters that shows how much of a limit is used, such as `[|||| 12.3%]`.
pub(crate) fn meter(used: u64, limit: u64, width: usize) -> Line<'static> {
    let share = if limit == 0 { 0.0 } else { used as f64 / limit as f64 };
    let inner = width.saturating_sub(2);
    let filled = ((share * inner as f64).round() as usize).min(inner);
    let bar = format!("{}{}", "|".repeat(filled), " ".repeat(inner - filled));
    let text = format!("{:.1}%", 100.0 * share);
    let (left, right) = bar.split_at(inner.saturating_sub(text.len()));
    let colour = match share {
        ..0.5 => Color::Green,
        ..0.8 => Color::Yellow,
        _ => Color::Red,
    };
    let text = text.get(..right.len()).unwrap_or(&text).to_owned();
    let bar = Span::styled(left.to_owned(), colour);
    Line::from_iter([Span::from("["), bar, Span::from(text), Span::from("]")])
}

/// Returns a bar of `width` characters, divided in proportion to the numbers in `parts`, such as `[lllrrrrrcc]`.
pub(crate) fn shares(parts: &[(char, Color, u64)], width: usize) -> Line<'static> {
    let inner = width.saturating_sub(2);
    let all: u64 = parts.iter().map(|(.., part)| part).sum();
    let mut line = Line::from("[");
    let (mut sum, mut drawn) = (0, 0);
    for (letter, colour, part) in parts {
        sum += part;
        let end = (sum as f64 / all.max(1) as f64 * inner as f64).round() as usize;
        let text = letter.to_string().repeat(end - drawn);
        line.push_span(Span::styled(text, *colour));
        drawn = end;
    }
    line.push_span(" ".repeat(inner - drawn));
    line.push_span("]");
    line
}

pub(crate) fn title(text: &str) -> Line<'static> {
    Line::from(text.to_owned()).add_modifier(Modifier::BOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients() {
        assert_eq!((percent(1, 3), percent(1, 0)), ("33%".into(), "-".into()));
        assert_eq!((ratio(5.0, 4), ratio(5.0, 0)), ("1.25".into(), "-".into()));
    }

    #[test]
    fn bars() {
        for (used, width, bar) in [
            (0, 12, "[      0.0%]"),
            (30, 12, "[|||  30.0%]"),
            (100, 12, "[||||100.0%]"),
            (250, 12, "[||||250.0%]"),
            (50, 5, "[50.]"),
            (50, 2, "[]"),
        ] {
            assert_eq!(meter(used, 100, width).to_string(), bar);
        }
        assert_eq!(meter(1, 0, 12).to_string(), "[      0.0%]");
        let parts = |parts: [u64; 3]| {
            let colours = [('l', Color::Green), ('r', Color::Yellow), ('c', Color::Red)];
            let parts = colours.into_iter().zip(parts);
            let parts: Vec<_> =
                parts.map(|((letter, colour), part)| (letter, colour, part)).collect();
            shares(&parts, 12).to_string()
        };
        assert_eq!(parts([0, 0, 0]), "[          ]");
        assert_eq!(parts([5, 3, 2]), "[lllllrrrcc]");
        assert_eq!(parts([0, 1, 0]), "[rrrrrrrrrr]");
    }

    #[test]
    fn columns_align() {
        let mut grid = Grid::new("name|>n").sorted(1);
        grid.row(["a", "100"].map(Line::from));
        grid.add_part("part|m");
        grid.row(["long name", "7"].map(Line::from));
        let lines: Vec<_> = grid.lines().iter().map(Line::to_string).collect();
        assert_eq!(
            lines,
            ["name         n", "a          100", "", "part         m", "long name    7"]
        );
    }
}
