//! What views are made of: columns, bars and numbers, in ASCII, so that every terminal and every file shows them.

use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};

/// Rows of cells under a header, each column as wide as its widest cell.
pub(crate) struct Grid {
    /// `true` for each column whose cells align right.
    right: Vec<bool>,
    /// The column by which the rows are sorted.
    sorted: Option<usize>,
    rows: Vec<Vec<Line<'static>>>,
}

impl Grid {
    /// Returns a grid without rows. `header` has the names of the columns with `|` between them; `>` before a name aligns
    /// its column right, as numbers are.
    #[must_use]
    pub(crate) fn new(header: &str) -> Self {
        let names = || header.split('|');
        let name = |name: &str| Line::from(name.trim_start_matches('>').to_owned());
        Self {
            right: names().map(|name| name.starts_with('>')).collect(),
            sorted: None,
            rows: vec![names().map(name).collect()],
        }
    }

    /// Marks the column by which the rows are sorted.
    #[must_use]
    pub(crate) fn sorted(mut self, column: usize) -> Self {
        self.sorted = Some(column);
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Line<'static>>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the header and the rows.
    #[must_use]
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
                let name = match (number, self.sorted == Some(column)) {
                    (0, true) => Style::new().bold().underlined(),
                    (0, false) => Style::new().bold(),
                    _ => Style::new(),
                };
                let spans = cell.spans.into_iter().map(|span| span.patch_style(name));
                match self.right[column] {
                    true => {
                        line.push_span(gap);
                        line.extend(spans);
                    }
                    false => {
                        line.extend(spans);
                        line.push_span(gap);
                    }
                }
            }
            line
        };
        self.rows.into_iter().enumerate().map(line).collect()
    }
}

/// Returns a number with commas between thousands.
#[must_use]
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a part of a whole in per cent.
#[must_use]
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0}%", 100.0 * part as f64 / whole as f64),
    }
}

/// Returns a quotient with two digits after the point.
#[must_use]
pub(crate) fn ratio(number: f64, by: u64) -> String {
    match by {
        0 => "-".to_owned(),
        _ => format!("{:.2}", number / by as f64),
    }
}

/// Returns a bar that is `width` characters wide and says how much of a limit is used: `[||||    12.3%]`.
#[must_use]
pub(crate) fn meter(used: u64, limit: u64, width: usize) -> Line<'static> {
    let share = match limit {
        0 => 0.0,
        _ => used as f64 / limit as f64,
    };
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
    Line::from(vec![
        Span::from("["),
        Span::styled(left.to_owned(), colour),
        Span::from(text),
        Span::from("]"),
    ])
}

/// Returns a bar that is `width` characters wide, divided as these numbers are: `[lllrrrrrcc]`.
#[must_use]
pub(crate) fn shares(parts: &[(char, Color, u64)], width: usize) -> Line<'static> {
    let inner = width.saturating_sub(2);
    let all: u64 = parts.iter().map(|(.., part)| part).sum();
    let mut line = Line::from("[");
    let (mut sum, mut drawn) = (0, 0);
    for (letter, colour, part) in parts {
        sum += part;
        let end = match all {
            0 => 0,
            _ => (sum as f64 / all as f64 * inner as f64).round() as usize,
        };
        let text = letter.to_string().repeat(end - drawn);
        line.push_span(Span::styled(text, *colour));
        drawn = end;
    }
    line.push_span(" ".repeat(inner - drawn));
    line.push_span("]");
    line
}

/// Returns a title of a part of a view.
#[must_use]
pub(crate) fn title(text: &str) -> Line<'static> {
    Line::from(text.to_owned()).add_modifier(Modifier::BOLD)
}
