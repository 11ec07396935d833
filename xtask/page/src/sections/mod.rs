//! The parts of the page, in its order.

mod calls;
mod executed;
mod lines;
mod machine;
mod memory;
mod summary;
mod threads;
mod time;

use crate::figure::Figure;
use crate::names::Names;
use crate::report::{Report, Thread};

pub(crate) use executed::Executed;
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
pub fn sections(report: &Report, names: &Names) -> Vec<Section> {
    let section = |title: &str, figures: Vec<Figure>| Section {
        title: title.to_owned(),
        figures,
    };
    let mut run = threads::figures(report);
    let nodes = report.threads.iter().map(Thread::node);
    let executes = machine::executes(report.nodes, "thread", nodes);
    run.extend(machine::figures(&report.usage, report.cycles, executes));
    let mut sections = vec![section("Threads and machine", run)];
    if let Some(details) = &report.details {
        sections.extend([
            section("Code and memory", memory::figures(report, details, names)),
            section(
                "Lines that nodes share",
                lines::figures(report, &details.lines, names),
            ),
            section(
                "Bandwidth and counters over time",
                time::figures(report, &details.series),
            ),
            section("Hypercalls and events", calls::figures(report, details)),
        ]);
    }
    sections.retain(|section| !section.figures.is_empty());
    sections
}
