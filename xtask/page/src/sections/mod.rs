//! The parts of the page, in its order.

mod machine;
mod memory;
mod summary;
mod threads;
mod time;

use crate::figure::Figure;
use crate::report::Report;

pub use summary::summary;

/// A part of the page.
pub struct Section {
    /// What it is about.
    pub title: String,
    /// Its charts.
    pub figures: Vec<Figure>,
}

/// Returns the parts of a report's page after the summary that have something to show.
#[must_use]
pub fn sections(report: &Report) -> Vec<Section> {
    let section = |title: &str, figures: Vec<Figure>| Section {
        title: title.to_owned(),
        figures,
    };
    let mut run = threads::figures(report);
    run.extend(machine::figures(report));
    let mut sections = vec![section("Threads and machine", run)];
    if let Some(details) = &report.details {
        sections.extend([
            section("Memory", memory::figures(report, details)),
            section(
                "Bandwidth over time",
                time::bandwidth(report, &details.series),
            ),
            section(
                "Counters over time",
                time::counters(report, &details.series),
            ),
        ]);
    }
    sections.retain(|section| !section.figures.is_empty());
    sections
}
