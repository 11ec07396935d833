//! The style sheets of pages and pictures.

/// The style sheet of drawings, on pages and in pictures.
pub(super) const DRAWING_STYLE: &str = include_str!("drawing.css");
/// The style sheet of everything else on a page.
pub(super) const PAGE_STYLE: &str = include_str!("page.css");
