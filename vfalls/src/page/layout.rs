//! Arranges figures on a page.

use maud::{Markup, html};

use super::figure::Figure;

/// The number of columns in a wide window.
const COLUMNS: usize = 3;

/// Lays out the figures of a section. Figures that are not wide are in columns. The wide figures at the start of the section are above the
/// columns, and all other wide figures are below.
///
/// A wide window shows the columns that this function makes, so that no card moves to another column when a reader unfolds a card's
/// numbers. In a narrower window, the browser makes two columns of the same cards, or one column in the order of the figures.
pub(super) fn layout(figures: &[Figure]) -> Markup {
    let first = figures.iter().take_while(|figure| figure.is_wide()).count();
    let (first, others) = figures.split_at(first);
    let (last, narrow): (Vec<_>, Vec<_>) = others.iter().partition(|figure| figure.is_wide());
    let heights: Vec<_> = narrow.iter().map(|figure| figure.height()).collect();
    html! {
        @for figure in first { (figure.html(0)) }
        @if !narrow.is_empty() {
            div.charts.one[narrow.len() == 1] {
                @for column in columns(&heights) {
                    div { @for place in column { (narrow[place].html(place)) } }
                }
            }
        }
        @for figure in last { (figure.html(0)) }
    }
}

/// Divides cards of the given heights into columns of similar height. Returns the indices of the cards in each column. No column is empty.
fn columns(heights: &[f64]) -> Vec<Vec<usize>> {
    let mut highest: Vec<_> = (0..heights.len()).collect();
    highest.sort_by(|one, other| heights[*other].total_cmp(&heights[*one]));
    let mut columns = vec![(0.0_f64, Vec::new()); COLUMNS.min(heights.len())];
    for card in highest {
        if let Some((height, cards)) =
            columns.iter_mut().min_by(|one, other| one.0.total_cmp(&other.0))
        {
            *height += heights[card];
            cards.push(card);
        }
    }
    let mut columns: Vec<_> = columns.into_iter().map(|(_, cards)| cards).collect();
    columns.iter_mut().for_each(|cards| cards.sort_unstable());
    columns.sort_unstable();
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_similar_heights() {
        // The columns are 10, 10 and 8 high.
        assert_eq!(columns(&[2.0, 10.0, 4.0, 5.0, 3.0, 4.0]), [vec![0, 3, 4], vec![1], vec![2, 5]]);
        assert_eq!(columns(&[1.0, 1.0, 9.0]), [[0], [1], [2]]);
        assert_eq!(columns(&[1.0, 9.0]), [[0], [1]]);
        assert_eq!(columns(&[]), [[0; 0]; 0]);
    }
}
